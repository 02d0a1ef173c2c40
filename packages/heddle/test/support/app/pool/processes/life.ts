import type { Pool } from '@heddle/core/pool/pool';
import type { RunnerProvider } from '@heddle/core/pool/port/provider';
import type { RunnerStore } from '@heddle/core/pool/port/store';
import { eventually } from '@heddle/test-support/eventually';

interface Stage {
  pool: Pool;
  store: RunnerStore;
  provider: RunnerProvider;
  newId: () => string;
}

const DEADLINE_MS = 90_000;

/** One whole life of a runner: requested, launched, claimed, free, claimed again, drained, gone. */
export async function playLife(stage: Stage): Promise<void> {
  const { pool, store, provider } = stage;
  const ways = new Set<Use['way']>();
  let first: string[] = [];
  // Which claim of which runner comes next is not known here. A request served between two polls was not seen.
  while (ways.size < 2 || first.length === 0) {
    const { runners, way } = await useRunner(stage);
    ways.add(way);
    if (first.length === 0) first = runners;
  }
  await pool.release(first);
  await pool.drain(first);
  await eventually(
    async () =>
      (await store.list({ ids: first }, { offset: 0, limit: 10 })).every(({ state }) => state === 'terminated'),
    'what was drained has ended',
    DEADLINE_MS,
  );
  await eventually(
    async () => {
      for await (const page of provider.list())
        if (page.some(({ provider_id, state }) => first.includes(provider_id) && state !== 'gone')) return false;
      return true;
    },
    'no process of them is left',
    DEADLINE_MS,
  );
  // The reaper has recorded it.
  await eventually(async () => (await store.leaving(provider.name, 10)).length === 0, 'nothing leaves', DEADLINE_MS);
}

interface Use {
  runners: string[];
  /** How it ended: by the runner itself, or because the request was released. */
  way: 'finished' | 'released';
}

/** Requests a runner until it is done, or takes it away if it does not end by itself. */
async function useRunner({ pool, store, newId }: Stage): Promise<Use> {
  const demand = {
    resource_class: 'large',
    usage_class: 'on-demand' as const,
    allowed_instance_types: [],
    cpu: null,
    memory_mib: null,
    count: 1,
  };
  const { id } = await pool.hold(demand, { id: newId(), holder: 'life', tenant: null, wait_ms: null });
  let runners: string[] = [];
  let looks = 0;
  let way: Use['way'] = 'finished';
  await eventually(
    async () => {
      const request = await store.request(id);
      if (request === null || request.state === 'ended') return true;
      if (request.runners.length > 0) runners = request.runners.map((runner) => runner.id);
      if (request.runners.some(({ state }) => state === 'running')) looks += 1;
      if (looks > 20) {
        way = 'released';
        await pool.releaseHold(id);
      }
      return false;
    },
    `the request ${id} was served`,
    DEADLINE_MS,
  );
  return { runners, way };
}
