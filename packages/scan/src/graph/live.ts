/** Resources held right now. Plain data that crosses threads. */
export interface LiveCounts {
  contexts: number;
  references: number;
  buffers: number;
}

/** Resources this thread holds right now. Every count is zero after a run, however it ended. */
export const live: LiveCounts = { contexts: 0, references: 0, buffers: 0 };

/** Returns a copy to send or compare. */
export function liveCounts(): LiveCounts {
  return { ...live };
}
