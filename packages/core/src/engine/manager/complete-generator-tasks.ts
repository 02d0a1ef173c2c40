import type { Batch } from './batch.ts';
import type { ManagerContext, StepResult } from './context.ts';

/** Generators that one pass ends; a full pass is followed by another. */
const GENERATORS_MAX = 500;
const PASSES_MAX = 20;

/** Step 6: ends generators whose announced nodes all exist and marks their workflows for reevaluation. */
export async function completeGeneratorTasks({ engine }: ManagerContext, batch: Batch): Promise<StepResult> {
  let count = 0;
  for (let pass = 0; pass < PASSES_MAX; pass += 1) {
    const workflows = await engine.completeGenerators(GENERATORS_MAX);
    for (const workflow of workflows) batch.roots.add(workflow);
    count += workflows.length;
    if (workflows.length === 0) return { count, more: false };
  }
  return { count, more: true };
}
