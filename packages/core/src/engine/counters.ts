import { addProgress } from '../store/transitions.ts';
import { releaseIdempotencyKeys, takeIdempotencyKeys } from '../store/submissions.ts';
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

/** Adds counters of many tasks in one commit; reports on one task are summed first, so a hot task costs one update. */
export async function progress(context: EngineContext, reports: readonly ProgressReport[]): Promise<ProgressResult[]> {
  const now = context.now();
  const keyed = reports.some((report) => report.idempotency_key !== null);
  const moved = keyed
    ? await context.database.transaction(async (tx) => {
        const repeats = await takeKeys(tx, reports, now);
        const added = await addSums(tx, reports, repeats, now);
        await releaseRefused(tx, reports, repeats, added.results);
        return added;
      })
    : await addSums(context.database, reports, new Map(), now);
  await context.observer.moved({ lanes: moved.lanes, workflows: moved.workflows });
  return moved.results;
}

/** Keyed reports that must not be counted, because their key exists already or is rejected. */
type Repeats = ReadonlyMap<number, { first: number } | 'repeated' | 'key_reused'>;

function routeOf(report: ProgressReport): string {
  return `PUT /task/${report.task_id}`;
}

function bodyOf(report: ProgressReport): string {
  return `${report.new_success}:${report.new_failures}`;
}

async function takeKeys(tx: Queryable, reports: readonly ProgressReport[], now: string | null): Promise<Repeats> {
  const repeats = new Map<number, { first: number } | 'repeated' | 'key_reused'>();
  const firsts = new Map<string, number>();
  for (const [index, report] of reports.entries()) {
    if (report.idempotency_key === null) continue;
    const name = JSON.stringify([report.task_id, report.idempotency_key]);
    const first = firsts.get(name);
    if (first === undefined) firsts.set(name, index);
    else repeats.set(index, bodyOf(reports[first]!) === bodyOf(report) ? { first } : 'key_reused');
  }
  const asked = [...firsts.values()];
  const earlier = await takeIdempotencyKeys(
    tx,
    asked.map((index) => {
      const report = reports[index]!;
      return { route: routeOf(report), key: report.idempotency_key!, body_hash: bodyOf(report) };
    }),
    now,
  );
  asked.forEach((index, at) => {
    const body = earlier[at];
    if (typeof body === 'string') repeats.set(index, body === bodyOf(reports[index]!) ? 'repeated' : 'key_reused');
  });
  return repeats;
}

/** Releases the key of a rejected count, so that a repeat is rejected again, or counted once the task accepts it. */
async function releaseRefused(
  tx: Queryable,
  reports: readonly ProgressReport[],
  repeats: Repeats,
  results: ProgressResult[],
): Promise<void> {
  const refused: { route: string; key: string }[] = [];
  for (const [index, report] of reports.entries()) {
    const repeat = repeats.get(index);
    if (typeof repeat === 'object' && results[repeat.first] !== 'applied') results[index] = results[repeat.first]!;
    if (report.idempotency_key === null || repeat !== undefined || results[index] === 'applied') continue;
    refused.push({ route: routeOf(report), key: report.idempotency_key });
  }
  if (refused.length > 0) await releaseIdempotencyKeys(tx, refused);
}

/** Selects the reports of one round: one attempt per task; other attempts wait for the next round. */
async function addSums(
  queryable: Queryable,
  reports: readonly ProgressReport[],
  repeats: Repeats,
  now: string | null,
): Promise<{ results: ProgressResult[]; lanes: number[]; workflows: string[] }> {
  const rounds: Map<string, Sum>[] = [];
  const sumOf = reports.map((report, index) => (repeats.has(index) ? null : addTo(rounds, report)));
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
  return { results: sumOf.map((sum, index) => sum?.result ?? refusalOf(repeats, index)), lanes, workflows };
}

function refusalOf(repeats: Repeats, index: number): ProgressResult {
  const repeat = repeats.get(index);
  return typeof repeat === 'string' ? repeat : 'repeated';
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
