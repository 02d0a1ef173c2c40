/** Reasons of intentional ends, which do not count as failed launches. */
export const END_REASONS = {
  drained: 'drained',
  idle_too_long: 'idle too long',
  by_hand: 'terminated by a user',
  server_stopped: 'its server stopped',
  stopped: 'its process received a stop signal',
  stuck: 'its handler did not end',
  /** A request of another class needed the capacity. */
  evicted: 'evicted',
  class_changed: 'its class has changed',
} as const;

/** Reasons of all other ends. */
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

/** End of a runner that never had an instance, with a reason from its provider. */
export const LAUNCH_FAILED = 'launch failed';
const OTHER = 'other';

const WANTED: ReadonlySet<string> = new Set(Object.values(END_REASONS));
const KNOWN: ReadonlySet<string> = new Set([...WANTED, ...Object.values(LOSS_REASONS)]);

export function isWantedEnd(reason: string | null): boolean {
  return reason !== null && WANTED.has(reason);
}

/** Maps a reason to one of a few kinds, without details such as the one in `its process ended (exit code 1)`. */
export function endKindOf(reason: string | null, hadInstance: boolean): string {
  const [kind = ''] = (reason ?? '').split(' (', 1);
  if (KNOWN.has(kind)) return kind;
  return hadInstance ? OTHER : LAUNCH_FAILED;
}
