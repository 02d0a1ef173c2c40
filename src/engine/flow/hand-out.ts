import type { EngineContext } from '../context.ts';
import { release } from '../heartbeat.ts';
import type { ClaimedTask } from '../port.ts';
import { report } from '../report.ts';
import { resolveInputs } from './resolve.ts';

/**
 * The claimed tasks as they are handed out. Those whose expressions fail end failed; where what they read cannot be
 * read, they are handed back: the others of the set go out in any case. Should this process die in between, their leases
 * and deadlines end them like any other attempt that nobody carries on.
 *
 * @param computed those whose inputs hold expressions
 */
export async function withInputs(
  context: EngineContext,
  tasks: readonly ClaimedTask[],
  computed: ReadonlySet<string>,
): Promise<ClaimedTask[]> {
  try {
    const handed = tasks.map((task) => ({ ...task, computed: computed.has(task.id) }));
    const { resolved, failures } = await resolveInputs(context, handed);
    if (failures.length > 0) await report(context, failures);
    return resolved.map(({ computed: _computed, ...task }) => task);
  } catch (error) {
    context.log.error(
      { err: error, tasks: computed.size },
      'Inputs could not be computed; their tasks are handed back',
    );
    const attempts = tasks.flatMap(({ id: task_id, attempt }) => (computed.has(task_id) ? [{ task_id, attempt }] : []));
    await release(context, attempts).catch((again: unknown) => {
      context.log.error({ err: again }, 'Tasks could not be handed back; their leases end them');
    });
    return tasks.filter(({ id }) => !computed.has(id));
  }
}
