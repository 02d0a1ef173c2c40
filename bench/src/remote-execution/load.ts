import { seededRandom } from '../../../src/runtime/random.ts';
import { percentile } from '../statistics.ts';
import type { RemoteLoad, RemoteRun } from '../subject.ts';

type Call = () => Promise<unknown>;

/** Sends calls as `pace` says for `duration_ms`, and waits for the last answer. */
export async function sendCalls(
  call: Call,
  { pace, duration_ms }: Pick<RemoteLoad, 'pace' | 'duration_ms'>,
): Promise<RemoteRun> {
  const latencies: number[] = [];
  const startedAt = performance.now();
  const timed = async (dueAt: number): Promise<void> => {
    await call();
    latencies.push(performance.now() - dueAt);
  };
  if ('in_flight' in pace) await inLanes(timed, pace.in_flight, startedAt + duration_ms);
  else await atRandom(timed, pace.per_s, startedAt + duration_ms);
  return {
    count: latencies.length,
    wall_ms: performance.now() - startedAt,
    p50_ms: percentile(latencies, 0.5),
    p99_ms: percentile(latencies, 0.99),
  };
}

/** So many lanes of calls, each with the next one when the last one was answered. */
async function inLanes(timed: (dueAt: number) => Promise<void>, lanes: number, endsAt: number): Promise<void> {
  const lane = async (): Promise<void> => {
    while (performance.now() < endsAt) await timed(performance.now());
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** A timer may fire so late without anything being wrong with this process. */
const TIMER_MS = 2;

/**
 * Callers who do not know of each other: moments are random (exponential gaps, the same ones in every run), and nobody waits
 * for an answer to somebody else. What is sent late, since this process was busy, counts from when it was due.
 */
async function atRandom(timed: (dueAt: number) => Promise<void>, perSecond: number, endsAt: number): Promise<void> {
  const random = seededRandom(1);
  const gapMs = (): number => (-Math.log(1 - random.next()) * 1000) / perSecond;
  const calls: Promise<void>[] = [];
  for (let dueAt = performance.now() + gapMs(); dueAt < endsAt; dueAt += gapMs()) {
    const waitMs = dueAt - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const now = performance.now();
    const call = timed(now - dueAt < TIMER_MS ? now : dueAt);
    call.catch(() => undefined);
    calls.push(call);
  }
  await Promise.all(calls);
}
