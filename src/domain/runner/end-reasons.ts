/** Why runners end that somebody wanted to end: nothing is wrong with their launch. */
export const END_REASONS = {
  drained: 'drained',
  idle_too_long: 'idle too long',
  by_hand: 'by hand',
  server_stopped: 'its server stopped',
  stuck: 'its handler did not end',
  /** Another class needed its room. */
  evicted: 'evicted',
  class_changed: 'its class has changed',
} as const;

const WANTED: ReadonlySet<string> = new Set(Object.values(END_REASONS));

export function isWantedEnd(reason: string | null): boolean {
  return reason !== null && WANTED.has(reason);
}
