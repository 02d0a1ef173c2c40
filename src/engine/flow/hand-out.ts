import type { EngineContext } from '../context.ts';
import { putBack, release } from '../heartbeat.ts';
import type { ClaimedTask } from '../port.ts';
import { report } from '../report.ts';
import { resolveInputs, type ResolvedInputs } from './resolve.ts';

/** What a claim hands out, and how many tasks it put back because its budget did not suffice for their expressions. */
export interface HandedOut {
  tasks: ClaimedTask[];
  deferred: number;
}

interface HandOutOptions {
  /** Those whose inputs hold expressions. */
  computed: ReadonlySet<string>;
  /** Whether others may claim what the budget does not suffice for; else every task has a budget of its own. */
  defers: boolean;
}

/**
 * The claimed tasks as they are handed out. Those whose expressions fail end failed; those that did not fit into the
 * budget of the claim are ready again, as if nobody had claimed them; where what they read cannot be read, they are handed
 * back: the others of the set go out in any case. Should this process die in between, their leases and deadlines end them
 * like any other attempt that nobody carries on.
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
    context.log.error(
      { err: error, tasks: computed.size },
      'Inputs could not be computed; their tasks are handed back',
    );
    const attempts = tasks.flatMap(({ id: task_id, attempt }) => (computed.has(task_id) ? [{ task_id, attempt }] : []));
    await release(context, attempts).catch((again: unknown) => {
      context.log.error({ err: again }, 'Tasks could not be handed back; their leases end them');
    });
    return { tasks: tasks.filter(({ id }) => !computed.has(id)), deferred: 0 };
  }
  const { resolved, deferred } = inputs;
  if (deferred.length > 0) {
    await putBack(
      context,
      deferred.map(({ id: task_id, attempt }) => ({ task_id, attempt })),
    ).catch((error: unknown) => {
      context.log.error({ err: error, tasks: deferred.length }, 'Tasks could not be put back; their leases end them');
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
