import type { ManagerContext, StepResult } from './context.ts';

/** Step 2: ends tasks that timed out and requeues those that lost their worker; their containers follow at once. */
export async function processTaskTimeouts({ engine }: ManagerContext): Promise<StepResult> {
  const { timed_out, more } = await engine.sweep();
  return { count: timed_out, more };
}
