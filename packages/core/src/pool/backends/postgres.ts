import type { RunnerMessage } from '../../domain/runner/runner.ts';
import type { BackendCounts, PoolBackend, Served } from '../port/backend.ts';
import type { RunnerRequest, RunnerStore } from '../port/store.ts';
import { newCounts } from './queue-backend.ts';

/** A store whose claiming statement also returns why a request got no runner. */
export interface IdleServing {
  /** Returns one answer per request, in order; without grant and reason if the request no longer waits. */
  serveIdle(requestIds: readonly string[]): Promise<Served[]>;
}

/** Uses the store's index of idle runners, which needs no offers and is never stale. */
export class PostgresBackend implements PoolBackend {
  readonly driver = 'postgres';
  readonly #store: Pick<RunnerStore, 'claimIdle' | 'census'> & Partial<IdleServing>;
  readonly #counts: BackendCounts = newCounts();

  constructor(store: Pick<RunnerStore, 'claimIdle' | 'census'> & Partial<IdleServing>) {
    this.#store = store;
  }

  get counts(): Readonly<BackendCounts> {
    return this.#counts;
  }

  async serve(requests: readonly RunnerRequest[]): Promise<Served[]> {
    if (requests.length === 0) return [];
    const ids = requests.map(({ id }) => id);
    this.#counts.operations += 1;
    const served = await (this.#store.serveIdle?.(ids) ?? this.#claimAndCount(requests, ids));
    for (const { grant } of served) this.#counts.picked += grant?.runners.length ?? 0;
    return served;
  }

  offer(_runners: readonly RunnerMessage[]): Promise<void> {
    return Promise.resolve();
  }

  async #claimAndCount(requests: readonly RunnerRequest[], ids: readonly string[]): Promise<Served[]> {
    const grants = new Map((await this.#store.claimIdle(ids.length, ids)).map((grant) => [grant.request_id, grant]));
    const census = grants.size < ids.length ? await this.#store.census() : [];
    const idle = new Set(census.filter((each) => each.idle > 0).map(({ resource_class }) => resource_class));
    return requests.map(({ id, resource_class }) => {
      const grant = grants.get(id) ?? null;
      const exhaustion = grant !== null ? null : idle.has(resource_class) ? 'local' : 'global';
      return { request_id: id, grant, exhaustion };
    });
  }
}
