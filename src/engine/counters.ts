import { addProgress } from '../store/transitions.ts';
import { takeIdempotencyKey } from '../store/submissions.ts';
import type { Queryable } from '../store/database.ts';
import type { EngineContext } from './context.ts';
import type { ProgressReport, ProgressResult } from './port.ts';

const RESULTS = ['applied', 'terminal', 'not_found', 'stale_attempt'] as const satisfies readonly ProgressResult[];

interface Sum {
  attempt: number | null;
  success: number;
  failure: number;
  result: ProgressResult;
}

/** Adds counters of many tasks in one commit: reports on one task are summed first, so a hot task costs one update. */
export async function progress(context: EngineContext, reports: readonly ProgressReport[]): Promise<ProgressResult[]> {
  const now = context.now();
  const keyed = reports.some((report) => report.idempotency_key !== null);
  const repeated = new Set<number>();
  const moved = keyed
    ? await context.database.transaction(async (tx) => {
        repeated.clear();
        await takeKeys(tx, reports, repeated, now);
        return addSums(tx, reports, repeated, now);
      })
    : await addSums(context.database, reports, repeated, now);
  await context.observer.moved({ lanes: moved.lanes, workflows: moved.workflows });
  return moved.results;
}

async function takeKeys(
  tx: Queryable,
  reports: readonly ProgressReport[],
  repeated: Set<number>,
  now: string | null,
): Promise<void> {
  // In the order of the keys: two commits that share keys must not wait for each other.
  const order = reports
    .flatMap((report, index) => (report.idempotency_key === null ? [] : [{ index, key: report.idempotency_key }]))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.index - b.index));
  for (const { index, key } of order) {
    const report = reports[index]!;
    const body = `${report.new_success}:${report.new_failures}`;
    const earlier = await takeIdempotencyKey(tx, `PUT /task/${report.task_id}`, key, body, now);
    if (earlier !== null) repeated.add(index);
  }
}

/** The reports of one round name each task with one attempt only; others wait for the next round. */
async function addSums(
  queryable: Queryable,
  reports: readonly ProgressReport[],
  repeated: ReadonlySet<number>,
  now: string | null,
): Promise<{ results: ProgressResult[]; lanes: number[]; workflows: string[] }> {
  const rounds: Map<string, Sum>[] = [];
  const sumOf = reports.map((report, index) => (repeated.has(index) ? null : addTo(rounds, report)));
  const lanes: number[] = [];
  const workflows: string[] = [];
  for (const round of rounds) {
    const ids = [...round.keys()];
    const sums = [...round.values()];
    const moved = await addProgress(
      queryable,
      ids,
      sums.map((sum) => sum.attempt),
      sums.map((sum) => sum.success),
      sums.map((sum) => sum.failure),
      now,
    );
    sums.forEach((sum, index) => {
      sum.result = RESULTS[moved.codes?.[index] ?? 0]!;
    });
    lanes.push(...(moved.lanes ?? []));
    workflows.push(...(moved.workflows ?? []));
  }
  return { results: sumOf.map((sum) => sum?.result ?? 'repeated'), lanes, workflows };
}

function addTo(rounds: Map<string, Sum>[], report: ProgressReport): Sum {
  const { task_id, attempt, new_success, new_failures } = report;
  for (const round of rounds) {
    const sum = round.get(task_id);
    if (sum !== undefined && sum.attempt !== attempt) continue;
    const into = sum ?? { attempt, success: 0, failure: 0, result: 'applied' };
    into.success += new_success;
    into.failure += new_failures;
    round.set(task_id, into);
    return into;
  }
  const sum: Sum = { attempt, success: new_success, failure: new_failures, result: 'applied' };
  rounds.push(new Map([[task_id, sum]]));
  return sum;
}
