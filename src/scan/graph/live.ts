/** What is held right now. Plain data that crosses threads. */
export interface LiveCounts {
  contexts: number;
  references: number;
  buffers: number;
}

/** What this thread holds right now. A run that has ended, however it ended, leaves every count at zero. */
export const live: LiveCounts = { contexts: 0, references: 0, buffers: 0 };

/** A copy, to be sent or compared. */
export function liveCounts(): LiveCounts {
  return { ...live };
}
