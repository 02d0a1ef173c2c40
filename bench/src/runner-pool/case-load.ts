import type { RunnerMessage } from '@heddle/core/domain/runner/runner';
import type { PoolBackend, Served } from '@heddle/core/pool/port/backend';
import type { PostgresRunnerStore } from '@heddle/core/pool/store/postgres';
import { systemClock } from '@heddle/base/clock';
import type { Database } from '@heddle/core/store/database';
import { idleType, wantedType, type CaseRun, type PoolCase } from './requests.ts';
import { fillPool, openStore, requestOf } from './stock.ts';

/** Requests of a burst that are served at once. */
const WIDTH = 64;
const OFFERED_AT_ONCE = 1_000;
const UNCERTAIN_MS = 5_000;

/**
 * One case: each request is served once, like a server serves it. A request that finds nothing although the pool has a
 * matching runner is not launched for: a server counts matching idle runners before it plans a launch.
 */
export async function poolCase(
  database: Database,
  poolCase: PoolCase,
  open: (store: PostgresRunnerStore) => { backend: PoolBackend; settle: () => Promise<void> },
): Promise<CaseRun> {
  const types = Array.from({ length: poolCase.idle }, (_, n) => idleType(poolCase, n));
  const runners: RunnerMessage[] = await fillPool(database, types);
  const store = openStore(database);
  const { backend, settle } = open(store);
  for (let at = 0; at < runners.length; at += OFFERED_AT_ONCE)
    await backend.offer(runners.slice(at, at + OFFERED_AT_ONCE));
  await settle();
  const before = backend.counts.operations;
  const latencies: number[] = [];
  let served = 0;
  const startedAt = performance.now();
  const serve = async (n: number): Promise<void> => {
    const asked = requestOf(wantedType(poolCase, n));
    const askedAt = performance.now();
    await store.ask([asked]);
    const waiting = await store.request(asked.id);
    // A request with an uncertain result is retried: only runners known to be missing are launched.
    let answer: Served | undefined;
    do [answer] = waiting?.state === 'waiting' ? await backend.serve([waiting]) : [];
    while (answer?.exhaustion === 'uncertain' && performance.now() - askedAt < UNCERTAIN_MS);
    latencies.push(performance.now() - askedAt);
    if (answer?.grant !== null || waiting?.state === 'granted') served += 1;
  };
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < poolCase.requests) await serve(next++);
  };
  if (poolCase.per_second === null) await Promise.all(Array.from({ length: WIDTH }, worker));
  else await stream(poolCase, poolCase.per_second, serve);
  return { served, operations: backend.counts.operations - before, latencies, wall_ms: performance.now() - startedAt };
}

async function stream({ requests }: PoolCase, perSecond: number, serve: (n: number) => Promise<void>): Promise<void> {
  const underWay: Promise<void>[] = [];
  const startedAt = performance.now();
  for (let n = 0; n < requests; n += 1) {
    const dueMs = (n * 1000) / perSecond - (performance.now() - startedAt);
    if (dueMs > 0) await systemClock.sleep(dueMs);
    underWay.push(serve(n));
  }
  await Promise.all(underWay);
}
