/** Why runners end that somebody wanted to end: nothing is wrong with their launch. */
export const END_REASONS = {
  drained: 'drained',
  idle_too_long: 'idle too long',
  by_hand: 'by hand',
  server_stopped: 'its server stopped',
  told_to_stop: 'its process was told to stop',
  stuck: 'its handler did not end',
  /** Another class needed its room. */
  evicted: 'evicted',
  class_changed: 'its class has changed',
} as const;

/** Why others end. */
export const LOSS_REASONS = {
  used_up: 'used up',
  lost: 'lost',
  vanished: 'vanished',
  unconfirmed: 'unconfirmed',
  never_launched: 'never launched',
  never_registered: 'never registered',
  interrupted: 'interrupted',
  process_ended: 'its process ended',
} as const;

/** Of one that never had an instance, and whose end is none of the above: its provider said why. */
export const LAUNCH_FAILED = 'launch failed';
const OTHER = 'other';

const WANTED: ReadonlySet<string> = new Set(Object.values(END_REASONS));
const KNOWN: ReadonlySet<string> = new Set([...WANTED, ...Object.values(LOSS_REASONS)]);

export function isWantedEnd(reason: string | null): boolean {
  return reason !== null && WANTED.has(reason);
}

/** Says an end in one of few words, whatever else was said of it: `its process ended (exit code 1)`. */
export function endKindOf(reason: string | null, hadInstance: boolean): string {
  const [words = ''] = (reason ?? '').split(' (', 1);
  if (KNOWN.has(words)) return words;
  return hadInstance ? OTHER : LAUNCH_FAILED;
}
