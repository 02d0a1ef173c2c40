import type { Database } from '@heddle/core/store/database';
import { eventLoopTurn } from '@heddle/base/turn';
import { typeName, type ClaimRequest, type ClaimRun } from './requests.ts';
import { fillPool, openStore, requestOf, restock } from './stock.ts';

/** Claims between two restockings: at most this many fewer runners are idle. */
const SLICE = 500;

/** The given number of claims by concurrent claimers; the pool is restocked in between, which is not measured. */
export async function claimLoad(database: Database, request: ClaimRequest): Promise<ClaimRun> {
  const type = typeName(0);
  await fillPool(
    database,
    Array.from({ length: request.idle + SLICE * request.gang }, () => type),
  );
  const store = openStore(database);
  const latencies: number[] = [];
  let wall = 0;
  for (let done = 0; done < request.claims; done += SLICE) {
    let left = Math.min(SLICE, request.claims - done);
    const startedAt = performance.now();
    const claimer = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const asked = requestOf(type, request.gang);
        const askedAt = performance.now();
        await store.ask([asked]);
        const [grant] = await store.claimIdle(1, [asked.id]);
        latencies.push(performance.now() - askedAt);
        if (grant?.runners.length !== request.gang) throw new Error('a request that could be served was not');
      }
    };
    await Promise.all(Array.from({ length: request.claimers }, claimer));
    wall += performance.now() - startedAt;
    await restock(database);
  }
  return { wall_ms: wall, latencies };
}

/** Milliseconds from the release of a runner to its grant to the waiting request. */
export async function handOver(database: Database, samples: number): Promise<number[]> {
  const type = typeName(0);
  const [runner] = await fillPool(database, [type]);
  const store = openStore(database);
  const first = requestOf(type);
  await store.ask([first]);
  let [held] = await store.claimIdle(1, [first.id]);
  const latencies: number[] = [];
  while (latencies.length < samples) {
    const next = requestOf(type);
    await store.ask([next]);
    const epoch = held!.runners[0]!.epoch;
    const releasedAt = performance.now();
    await store.release(runner!.id, epoch);
    // A waiting request polls when it is notified; here it polls continuously.
    let granted = await store.request(next.id);
    while (granted?.state !== 'granted') {
      await eventLoopTurn();
      granted = await store.request(next.id);
    }
    latencies.push(performance.now() - releasedAt);
    held = {
      request_id: next.id,
      runners: granted.runners.map(({ id, number, epoch: raised, instance_type, address }) => ({
        id,
        number,
        epoch: raised,
        instance_type,
        address,
      })),
    };
  }
  return latencies;
}
