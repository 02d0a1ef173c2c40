import { putBackAttempts, recordHeartbeats, releaseAttempts } from '../store/claims.ts';
import type { EngineContext } from './context.ts';
import type { Heartbeat, HeartbeatResult, TransitionOutcome } from './port.ts';
import { distinctRounds, outcomesOf } from './report.ts';
import { openAttempts, recordEnds } from './traces/attempts.ts';

const RESULTS = ['applied', 'canceled', 'not_found', 'stale_attempt'] as const satisfies readonly HeartbeatResult[];

/**
 * Applies heartbeats of many attempts in one commit; those of one attempt are summed first. The first heartbeat starts
 * an attempt; heartbeats of one that came through a queue keep its lease from expiring.
 */
export async function heartbeat(context: EngineContext, beats: readonly Heartbeat[]): Promise<HeartbeatResult[]> {
  const { database, observer, settings } = context;
  const { sums, sumOf } = summed(beats);
  const results = new Array<HeartbeatResult>(sums.length);
  for (const round of distinctRounds(sums)) {
    const set = round.map((index) => sums[index]!);
    const beaten = await recordHeartbeats(database, set, settings.workerLeaseMs, context.now());
    beaten.codes.forEach((code, at) => {
      results[round[at]!] = RESULTS[code]!;
    });
    await observer.moved({ lanes: beaten.lanes, workflows: beaten.workflows ?? null });
    if (beaten.begun !== null && beaten.begun !== undefined) await observer.claimed('claimed', 'running', beaten.begun);
  }
  return sumOf.map((index) => results[index]!);
}

/** Merges beats by attempt, adds up their counts, and maps each beat to its merged one. */
function summed(beats: readonly Heartbeat[]): { sums: Heartbeat[]; sumOf: number[] } {
  const sums: Heartbeat[] = [];
  const known = new Map<string, number>();
  const sumOf = beats.map((beat) => {
    const name = `${beat.task_id}:${beat.attempt}`;
    const index = known.get(name);
    if (index === undefined) {
      known.set(name, sums.length);
      return sums.push({ ...beat }) - 1;
    }
    const sum = sums[index]!;
    sum.new_success += beat.new_success;
    sum.new_failures += beat.new_failures;
    return index;
  });
  return { sums, sumOf };
}

interface Attempt {
  task_id: string;
  attempt: number;
}

/** Requeues attempts that their workers will not finish; a canceled one only releases its slots. */
export async function release(context: EngineContext, tasks: readonly Attempt[]): Promise<TransitionOutcome[]> {
  return giveBack(context, tasks, releaseAttempts);
}

/** Does the same for attempts without a heartbeat so far: the next claim reopens the same attempt. */
export async function putBack(context: EngineContext, tasks: readonly Attempt[]): Promise<void> {
  await giveBack(context, tasks, putBackAttempts);
}

async function giveBack(
  context: EngineContext,
  tasks: readonly Attempt[],
  give: typeof releaseAttempts,
): Promise<TransitionOutcome[]> {
  const outcomes = new Array<TransitionOutcome>(tasks.length);
  for (const round of distinctRounds(tasks)) {
    const set = round.map((index) => tasks[index]!);
    const ids = set.map((task) => task.task_id);
    // The attempt has not begun and begins again under the same number, so there is nothing to record.
    const open = await openAttempts(context, give === releaseAttempts ? ids : []);
    const { given, ...moved } = await give(context.database, set, context.now());
    await context.observer.moved({ lanes: moved.lanes ?? null });
    if (given !== null) await context.observer.moved(given);
    const results = outcomesOf(ids, moved, () => 'pending');
    recordEnds(context, open, results, () => ({ outcome: 'handed_back' }));
    results.forEach((outcome, at) => {
      outcomes[round[at]!] = outcome;
    });
  }
  return outcomes;
}
