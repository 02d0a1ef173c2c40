import type { EngineContext } from '../context.ts';
import { putBack, release } from '../heartbeat.ts';
import type { ClaimedTask } from '../port.ts';
import { report } from '../report.ts';
import { resolveInputs, type ResolvedInputs } from './resolve.ts';

/** Tasks that a claim hands out, and the number it put back because its budget was too small for their expressions. */
export interface HandedOut {
  tasks: ClaimedTask[];
  deferred: number;
}

interface HandOutOptions {
  /** Tasks whose inputs hold expressions. */
  computed: ReadonlySet<string>;
  /** Whether other claimers may take tasks that exceed the budget; otherwise every task has its own budget. */
  defers: boolean;
}

/**
 * Returns the claimed tasks that can be handed out. Tasks whose expressions fail end as failed; tasks beyond the
 * claim's budget become ready again; tasks whose inputs cannot be read are handed back, without delaying the others. If
 * this process dies in between, their leases and deadlines end them like any abandoned attempt.
 */
export async function withInputs(
  context: EngineContext,
  tasks: readonly ClaimedTask[],
  { computed, defers }: HandOutOptions,
): Promise<HandedOut> {
  const handed = tasks.map((task) => ({ ...task, computed: computed.has(task.id) }));
  let inputs: ResolvedInputs<(typeof handed)[number]>;
  try {
    inputs = await (defers ? resolveInputs(context, handed) : resolveAll(context, handed));
    if (inputs.failures.length > 0) await report(context, inputs.failures);
  } catch (error) {
    context.log.error({ err: error, tasks: computed.size }, 'inputs could not be computed; handing their tasks back');
    const attempts = tasks.flatMap(({ id: task_id, attempt }) => (computed.has(task_id) ? [{ task_id, attempt }] : []));
    await release(context, attempts).catch((again: unknown) => {
      context.log.error({ err: again }, 'tasks could not be handed back; their leases will expire');
    });
    return { tasks: tasks.filter(({ id }) => !computed.has(id)), deferred: 0 };
  }
  const { resolved, deferred } = inputs;
  if (deferred.length > 0) {
    await putBack(
      context,
      deferred.map(({ id: task_id, attempt }) => ({ task_id, attempt })),
    ).catch((error: unknown) => {
      context.log.error(
        { err: error, tasks: deferred.length },
        'tasks could not be put back; their leases will expire',
      );
    });
  }
  return { tasks: resolved.map(({ computed: _computed, ...task }) => task), deferred: deferred.length };
}

async function resolveAll<Task extends ClaimedTask & { computed: boolean }>(
  context: EngineContext,
  tasks: readonly Task[],
): Promise<ResolvedInputs<Task>> {
  const all = await resolveInputs(context, tasks);
  while (all.deferred.length > 0) {
    const next = await resolveInputs(context, all.deferred);
    all.resolved.push(...next.resolved);
    all.failures.push(...next.failures);
    all.deferred = next.deferred;
  }
  return all;
}
