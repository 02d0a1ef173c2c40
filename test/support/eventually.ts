import { setTimeout as sleep } from 'node:timers/promises';

/** Polls until `probe` answers something other than undefined or false, and returns it; fails after `deadlineMs`. */
export async function eventually<T>(
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  what: string,
  deadlineMs = 20_000,
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`Not within ${deadlineMs} ms: ${what}`);
    await sleep(10);
  }
}
