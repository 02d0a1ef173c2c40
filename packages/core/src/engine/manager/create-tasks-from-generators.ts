import type { NodeCreationResult } from '../port.ts';
import { applyOnce } from './apply-once.ts';
import type { Batch, Verdict } from './batch.ts';
import type { ManagerContext } from './context.ts';

/** Step 4: adds nodes that generators created; dead-letters those that can no longer be placed, with the reason. */
export async function createTasksFromGenerators(context: ManagerContext, batch: Batch, now: number): Promise<void> {
  await applyOnce(context, batch, now, batch.of('CreateTask'), {
    async apply(engine, messages) {
      const results = await engine.createNodes(
        messages.map(({ generator_id, attempt, task, parent_id }) => ({
          generator_id,
          attempt,
          node: task,
          parent: parent_id,
        })),
      );
      return results.map(verdictOf);
    },
  });
}

function verdictOf(creation: NodeCreationResult): Verdict {
  switch (creation.result) {
    case 'created':
      return { outcome: 'applied' };
    case 'exists':
      return { outcome: 'repeated' };
    case 'stale_attempt':
      return { outcome: 'refused' };
    case 'rejected':
      // The message that creates its container may be on its way.
      return { outcome: creation.transient ? 'failed' : 'dead_lettered', reason: creation.reason };
  }
}
