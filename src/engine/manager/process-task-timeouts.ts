import type { ManagerContext, StepResult } from './context.ts';

/** Step 2: ends what exceeded its time and hands on what lost its worker; the containers above follow at once. */
export async function processTaskTimeouts({ engine }: ManagerContext): Promise<StepResult> {
  const { timed_out, more } = await engine.sweep();
  return { count: timed_out, more };
}
