import { setTimeout as sleep } from 'node:timers/promises';

import { patience } from './patience.ts';

const PAUSE_MS = { first: 2, max: 100 };

/**
 * Polls until `probe` answers something other than undefined or false, and returns it; fails after `deadlineMs`, which
 * is for what never comes, and the longer the busier the machine is.
 */
export async function eventually<T>(
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  what: string,
  deadlineMs = 60_000,
): Promise<T> {
  const startedAt = performance.now();
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== false) return found;
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > deadlineMs * patience()) throw new Error(`Not within ${Math.round(waitedMs)} ms: ${what}`);
    // A share of the wait so far: a long one takes little processor time from what is waited for.
    await sleep(Math.min(PAUSE_MS.max, PAUSE_MS.first + waitedMs / 10));
  }
}
