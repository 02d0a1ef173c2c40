import type { RunnerMessage } from '../../domain/runner/runner.ts';
import type { BackendCounts, PoolBackend, Served } from '../port/backend.ts';
import type { RunnerRequest, RunnerStore } from '../port/store.ts';
import { newCounts } from './queue-backend.ts';

/** A store that can tell, in the statement that claims, why a request got nothing. */
export interface IdleServing {
  /** One answer for each, in order; neither a grant nor a reason where the request does not wait any more. */
  serveIdle(requestIds: readonly string[]): Promise<Served[]>;
}

/** The store's own index of idle runners: there is nothing to be told of, and nothing that could be out of date. */
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
