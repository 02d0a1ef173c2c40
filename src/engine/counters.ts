import { addProgress } from '../store/transitions.ts';
import { takeIdempotencyKey } from '../store/submissions.ts';
import type { Queryable } from '../store/database.ts';
import type { EngineContext } from './context.ts';
import type { ProgressReport, ProgressResult } from './port.ts';

const RESULTS = ['applied', 'terminal', 'not_found'] as const satisfies readonly ProgressResult[];

interface Sum {
  success: number;
  failure: number;
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
  return reports.map((report, index) => {
    if (repeated.has(index)) return 'repeated';
    return RESULTS[moved.codeOf.get(report.task_id) ?? 0]!;
  });
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

async function addSums(
  queryable: Queryable,
  reports: readonly ProgressReport[],
  repeated: ReadonlySet<number>,
  now: string | null,
): Promise<{ codeOf: Map<string, number>; lanes: number[]; workflows: string[] }> {
  const sums = new Map<string, Sum>();
  reports.forEach((report, index) => {
    if (repeated.has(index)) return;
    const sum = sums.get(report.task_id);
    if (sum === undefined) sums.set(report.task_id, { success: report.new_success, failure: report.new_failures });
    else {
      sum.success += report.new_success;
      sum.failure += report.new_failures;
    }
  });
  if (sums.size === 0) return { codeOf: new Map(), lanes: [], workflows: [] };
  const ids = [...sums.keys()];
  const values = [...sums.values()];
  const moved = await addProgress(
    queryable,
    ids,
    values.map((sum) => sum.success),
    values.map((sum) => sum.failure),
    now,
  );
  return {
    codeOf: new Map(ids.map((id, index) => [id, moved.codes?.[index] ?? 0])),
    lanes: moved.lanes ?? [],
    workflows: moved.workflows ?? [],
  };
}
