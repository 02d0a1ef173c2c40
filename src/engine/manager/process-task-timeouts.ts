import type { ManagerContext } from './context.ts';

/** Step 2: ends what exceeded its time and hands on what lost its worker; the containers above follow at once. */
export async function processTaskTimeouts({ engine }: ManagerContext): Promise<number> {
  return (await engine.sweep()).timed_out;
}
