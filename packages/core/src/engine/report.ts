import { taskStateOf, TASK_STATE_CODE, type TaskState } from '@heddle/base/vocabulary/task-state';
import { TRANSITION_RESULTS } from '../store/sql-names.ts';
import { settle, updateTasks, type Moved, type SettleInput } from '../store/transitions.ts';
import type { EngineContext } from './context.ts';
import { storedAction } from './outbox.ts';
import type { Report, TaskUpdate, TransitionOutcome } from './port.ts';
import { openAttempts, recordEnds } from './traces/attempts.ts';

/** Maximum length of a reason, characters. */
const REASON_MAX = 2_000;

/** Splits reports into sets without repeated tasks, so that a second report on a task sees the result of the first. */
export function distinctRounds(items: readonly { task_id: string }[]): number[][] {
  const seen = new Map<string, number>();
  const rounds: number[][] = [];
  items.forEach((item, index) => {
    const round = seen.get(item.task_id) ?? 0;
    seen.set(item.task_id, round + 1);
    (rounds[round] ??= []).push(index);
  });
  return rounds;
}

export function outcomesOf(
  ids: readonly string[],
  moved: Moved,
  applied: (index: number) => TaskState,
): TransitionOutcome[] {
  return ids.map((task_id, index) => {
    const result = TRANSITION_RESULTS[moved.codes?.[index] ?? 0]!;
    const state = moved.states?.[index];
    if (state !== undefined && state !== null) return { task_id, result, state: taskStateOf(state) };
    return { task_id, result, state: result === 'not_found' ? null : applied(index) };
  });
}

/** Applies reports in sets: one statement settles a set and everything that follows from it. */
export async function report(context: EngineContext, reports: readonly Report[]): Promise<TransitionOutcome[]> {
  const outcomes = new Array<TransitionOutcome>(reports.length);
  for (const round of distinctRounds(reports)) {
    round.sort((a, b) => (reports[a]!.task_id < reports[b]!.task_id ? -1 : 1));
    const set = round.map((index) => reports[index]!);
    const results = await settleSet(context, set);
    round.forEach((index, at) => {
      outcomes[index] = results[at]!;
    });
  }
  return outcomes;
}

/** Builds the parameters of one set: distinct tasks, in the order of their ids. */
export function settleInput(context: EngineContext, set: readonly Report[]): SettleInput {
  return {
    ids: set.map((report) => report.task_id),
    attempts: set.map((report) => report.attempt),
    states: set.map((report) => TASK_STATE_CODE[report.outcome]),
    reasons: set.map((report) => report.reason?.slice(0, REASON_MAX) ?? null),
    extras: extrasOf(set),
    workflows: workflowsToLock(set),
    jitter: context.random.next(),
    now: context.now(),
  };
}

/** Returns the linked workflows of a set if every report names its workflow, else null. */
function workflowsToLock(set: readonly Report[]): string[] | null {
  const workflows = new Set<string>();
  for (const { workflow } of set) {
    if (workflow === undefined) return null;
    if (workflow.linked) workflows.add(workflow.id);
  }
  return [...workflows];
}

async function settleSet(context: EngineContext, set: readonly Report[]): Promise<TransitionOutcome[]> {
  const input = settleInput(context, set);
  const results = set.flatMap(({ task_id, result }) => (result === undefined ? [] : [{ task_id, data: result }]));
  const open = await openAttempts(context, input.ids);
  const moved = await settle(
    context.database,
    input,
    results.length === 0 ? null : JSON.stringify(results),
    noticesOf(set),
  );
  noteIgnored(context, moved);
  await context.observer.moved(moved);
  const outcomes = outcomesOf(input.ids, moved, (index) => set[index]!.outcome);
  recordEnds(context, open, outcomes, (index) => set[index]!);
  return outcomes;
}

/** Logs disabled names that do not exist, since reports may name anything. */
export function noteIgnored(context: Pick<EngineContext, 'log'>, { ignored }: Moved): void {
  for (const { task_id, node } of ignored ?? []) {
    context.log.warn({ task_id, node }, 'ignored names to disable; they are not later nodes of the same sequence');
  }
}

/** Returns the notices of succeeded tasks as settle_with_notices takes them; null if there are none. */
function noticesOf(set: readonly Report[]): string | null {
  const notices = set.flatMap(({ task_id, outcome, notices: told }) =>
    told === undefined || outcome !== 'succeeded'
      ? []
      : [{ task_id, notices: told.actions.map(storedAction), once_per_workflow: told.once_per_workflow }],
  );
  return notices.length === 0 ? null : JSON.stringify(notices);
}

/** Merges metadata and adds counters without a change of state. */
export async function update(context: EngineContext, updates: readonly TaskUpdate[]): Promise<TransitionOutcome[]> {
  const outcomes = new Array<TransitionOutcome>(updates.length);
  for (const round of distinctRounds(updates)) {
    const set = round.map((index) => updates[index]!);
    const ids = set.map((item) => item.task_id);
    const moved = await updateTasks(
      context.database,
      ids,
      set.map((item) => item.attempt),
      extrasOf(set) ?? '[]',
      context.now(),
    );
    await context.observer.moved({ ...moved, codes: null });
    outcomesOf(ids, moved, () => 'running').forEach((outcome, at) => {
      outcomes[round[at]!] = outcome;
    });
  }
  return outcomes;
}

function extrasOf(set: readonly (Report | TaskUpdate)[]): string | null {
  const extras = set.flatMap((item) =>
    item.metadata_patch === undefined &&
    item.new_success === undefined &&
    item.new_failures === undefined &&
    !('expected_created' in item) &&
    !('final' in item) &&
    !('disable' in item)
      ? []
      : [
          {
            id: item.task_id,
            metadata_patch: item.metadata_patch,
            new_success: item.new_success,
            new_failures: item.new_failures,
            expected_created: 'expected_created' in item ? item.expected_created : undefined,
            final: 'final' in item ? item.final : undefined,
            disable: 'disable' in item ? item.disable : undefined,
          },
        ],
  );
  return extras.length === 0 ? null : JSON.stringify(extras);
}
