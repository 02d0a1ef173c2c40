import { seededRandom } from '@heddle/base/random';
import { percentile } from '../statistics.ts';
import type { RemoteLoad, RemoteRun } from '../subject.ts';

type Call = () => Promise<unknown>;

/** Sends calls at the given `pace` for `duration_ms`, and waits for the last response. */
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

/** The given number of lanes, each with the next call after the last response. */
async function inLanes(timed: (dueAt: number) => Promise<void>, lanes: number, endsAt: number): Promise<void> {
  const lane = async (): Promise<void> => {
    while (performance.now() < endsAt) await timed(performance.now());
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** Tolerated delay of a timer. */
const TIMER_MS = 2;

/**
 * Independent callers: times are random (exponential gaps, the same in every run), and no caller waits for another. A
 * call that is sent late because this process was busy counts from its due time.
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
