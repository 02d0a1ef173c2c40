import { linesOf } from '@heddle/base/log-slab';
import type { LogChunk } from '@heddle/base/vocabulary/task-log';
import { taskStateOf, TASK_STATE_CODE, type TaskState } from '@heddle/base/vocabulary/task-state';
import { settleAndClaim, type Claimed, type ClaimTerms } from '../store/claims.ts';
import { TRANSITION_RESULTS } from '../store/sql-names.ts';
import { appendChunks, PACK_BYTES_MAX, packLogs } from '../store/task-logs.ts';
import { settle, updateTasks, type LogPack, type Moved, type SettleInput } from '../store/transitions.ts';
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

/** A claim that goes along with a set of reports, in one statement. */
export interface ClaimStep {
  readonly lanes: readonly number[];
  readonly terms: ClaimTerms;
}

/** Applies reports in sets: one statement settles a set and everything that follows from it. */
export async function report(context: EngineContext, reports: readonly Report[]): Promise<TransitionOutcome[]> {
  return (await settleReports(context, reports, null)).outcomes;
}

/** Applies reports; the last set goes along with the claim. */
export async function settleReports(
  context: EngineContext,
  reports: readonly Report[],
  claim: ClaimStep | null,
): Promise<{ outcomes: TransitionOutcome[]; claimed: Claimed | null }> {
  const outcomes = new Array<TransitionOutcome>(reports.length);
  let claimed: Claimed | null = null;
  const rounds = distinctRounds(reports);
  for (const [index, round] of rounds.entries()) {
    round.sort((a, b) => (reports[a]!.task_id < reports[b]!.task_id ? -1 : 1));
    const set = round.map((index) => reports[index]!);
    const settled = await settleSet(context, set, index === rounds.length - 1 ? claim : null);
    claimed = settled.claimed;
    round.forEach((index, at) => {
      outcomes[index] = settled.outcomes[at]!;
    });
  }
  return { outcomes, claimed };
}

/** Builds the parameters of one set: distinct tasks, in the order of their ids. */
function settleInput(
  context: EngineContext,
  set: readonly Report[],
  { redacted, logs }: Pick<SettleInput, 'redacted' | 'logs'>,
): SettleInput {
  return {
    ids: set.map((report) => report.task_id),
    attempts: set.map((report) => report.attempt),
    states: set.map((report) => TASK_STATE_CODE[report.outcome]),
    reasons: set.map((report) => report.reason?.slice(0, REASON_MAX) ?? null),
    extras: extrasOf(set),
    workflows: workflowsToLock(set),
    jitter: context.random.next(),
    now: context.now(),
    results: resultsOf(set),
    notices: noticesOf(set),
    redacted,
    logs,
  };
}

/**
 * Packs the logs that come with reports, except for those beyond the size of a pack, which it stores at once; null if
 * none comes with any.
 */
async function packOf({ database }: EngineContext, set: readonly Report[]): Promise<LogPack | null> {
  const packed: Report[] = [];
  const chunks: LogChunk[] = [];
  let bytes = 0;
  for (const report of set) {
    const { task_id, attempt, log } = report;
    if (log === undefined) continue;
    bytes += log.end - log.start;
    if (bytes <= PACK_BYTES_MAX) packed.push(report);
    else chunks.push({ task_id, attempt: attempt!, first_line: 0, ...linesOf(log) });
  }
  if (chunks.length > 0) await appendChunks(database, chunks);
  if (packed.length === 0) return null;
  const logs = packed.map(({ log }) => log!);
  return {
    data: packLogs(logs),
    tasks: packed.length === set.length ? null : packed.map(({ task_id }) => task_id),
    lines: logs.map(({ lines }) => lines),
  };
}

function resultsOf(set: readonly Report[]): string | null {
  const results = set.flatMap(({ task_id, result }) => (result === undefined ? [] : [{ task_id, data: result }]));
  return results.length === 0 ? null : JSON.stringify(results);
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

async function settleSet(
  context: EngineContext,
  set: readonly Report[],
  claim: ClaimStep | null,
): Promise<{ outcomes: TransitionOutcome[]; claimed: Claimed | null }> {
  const { database, observer } = context;
  const ids = set.map(({ task_id }) => task_id);
  const logs = set.some(({ log }) => log !== undefined) ? await packOf(context, set) : null;
  const open = await openAttempts(context, ids);
  const { moved, claimed } =
    claim === null
      ? { moved: await settleRedacted(context, set, ids, logs), claimed: null }
      : // A worker that claims with its reports runs in a process of Heddle, which has redacted them.
        await settleAndClaim(database, settleInput(context, set, { redacted: null, logs }), claim.lanes, claim.terms);
  noteIgnored(context, moved);
  await observer.moved(claim === null || claimed === null ? moved : withoutDrained(moved, claim, claimed));
  const outcomes = outcomesOf(ids, moved, (index) => set[index]!.outcome);
  recordEnds(context, open, outcomes, (index) => set[index]!);
  return { outcomes, claimed };
}

/** Settles a set. Only if it has a task that secrets were sent for are they looked up, and the set is settled again. */
async function settleRedacted(
  context: EngineContext,
  set: readonly Report[],
  ids: readonly string[],
  logs: LogPack | null,
): Promise<Moved> {
  const { database, sentSecrets } = context;
  const moved = await settle(database, settleInput(context, set, { redacted: [], logs }));
  if (moved.unredacted !== true) return moved;
  return settle(database, settleInput(context, await sentSecrets.redact(database, set), { redacted: ids, logs }));
}

function withoutDrained(moved: Moved, { lanes, terms }: ClaimStep, claimed: Claimed): Moved {
  return { ...moved, lanes: lanesLeft(moved.lanes ?? [], lanes, claimed.rows.length < terms.limit) };
}

/** Other claimers need no notification of lanes that a claim has drained. */
export function lanesLeft(ready: readonly number[], claimed: readonly number[], drained: boolean): number[] {
  return ready.filter((lane) => !drained || !claimed.includes(lane));
}

/** Logs disabled names that do not exist, since reports may name anything. */
function noteIgnored(context: Pick<EngineContext, 'log'>, { ignored }: Moved): void {
  for (const { task_id, node } of ignored ?? []) {
    context.log.warn({ task_id, node }, 'ignored names to disable; they are not later nodes of the same sequence');
  }
}

/** Returns the notices of succeeded tasks as write_task_notices takes them; null if there are none. */
function noticesOf(set: readonly Report[]): string | null {
  const notices = set.flatMap(({ task_id, outcome, notices: asked }) =>
    asked === undefined || outcome !== 'succeeded'
      ? []
      : [{ task_id, notices: asked.actions.map(storedAction), once_per_workflow: asked.once_per_workflow }],
  );
  return notices.length === 0 ? null : JSON.stringify(notices);
}

/** Merges metadata and adds counters without a change of state. */
export async function update(context: EngineContext, updates: readonly TaskUpdate[]): Promise<TransitionOutcome[]> {
  const outcomes = new Array<TransitionOutcome>(updates.length);
  for (const round of distinctRounds(updates)) {
    const set = round.map((index) => updates[index]!);
    const ids = set.map((item) => item.task_id);
    const moved = await updateRedacted(context, set, ids);
    await context.observer.moved({ ...moved, codes: null });
    outcomesOf(ids, moved, () => 'running').forEach((outcome, at) => {
      outcomes[round[at]!] = outcome;
    });
  }
  return outcomes;
}

async function updateRedacted(
  context: EngineContext,
  set: readonly TaskUpdate[],
  ids: readonly string[],
): Promise<Moved> {
  const { database, sentSecrets } = context;
  const attempts = set.map(({ attempt }) => attempt);
  const apply = (updates: readonly TaskUpdate[], redacted: readonly string[]): Promise<Moved> =>
    updateTasks(database, ids, attempts, extrasOf(updates) ?? '[]', redacted, context.now());
  const moved = await apply(set, []);
  return moved.unredacted === true ? apply(await sentSecrets.redact(database, set), ids) : moved;
}

function extrasOf(set: readonly (Report | TaskUpdate)[]): string | null {
  const extras = set.flatMap((item) =>
    item.metadata_patch === undefined &&
    item.new_success === undefined &&
    item.new_failures === undefined &&
    !('expected_created' in item) &&
    !('final' in item) &&
    !('exit_code' in item) &&
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
            exit_code: 'exit_code' in item ? item.exit_code : undefined,
            disable: 'disable' in item ? item.disable : undefined,
          },
        ],
  );
  return extras.length === 0 ? null : JSON.stringify(extras);
}
