import type { Registration } from '@heddle/core/pool/port/store';
import type { PostgresRunnerStore } from '@heddle/core/pool/store/postgres';
import type { Database } from '@heddle/core/store/database';
import { RUNNER_CHANNEL } from '@heddle/core/store/runners/notice-queue';
import type { RunnerAgents } from '../../http/ports.ts';
import type { SharedTimes } from './shared-policy.ts';

/** The pool as agents of runners reach it, over HTTP. */
export class StoredRunnerAgents implements RunnerAgents {
  readonly times: RunnerAgents['times'];
  readonly #store: PostgresRunnerStore;
  readonly #rings = new Map<string, Set<() => void>>();

  constructor(store: PostgresRunnerStore, times: SharedTimes) {
    this.#store = store;
    this.times = times;
  }

  /** Starts to notify agents; returns a function that ends it. */
  listen(database: Pick<Database, 'listen'>): Promise<() => Promise<void>> {
    return database.listen(RUNNER_CHANNEL, (payload) => {
      // An empty payload may mean that notifications were lost.
      const rings = payload === '' ? [...this.#rings.values()] : [this.#rings.get(payload) ?? []];
      for (const set of rings) for (const ring of set) ring();
    });
  }

  onOrders(runnerId: string, ring: () => void): () => void {
    const rings = this.#rings.get(runnerId) ?? new Set();
    this.#rings.set(runnerId, rings.add(ring));
    return () => {
      rings.delete(ring);
      if (rings.size === 0 && this.#rings.get(runnerId) === rings) this.#rings.delete(runnerId);
    };
  }

  classOf = (registration: Registration): Promise<string | null> => this.#store.classOf(registration);
  orders: RunnerAgents['orders'] = (id) => this.#store.orders(id);
  register: RunnerAgents['register'] = (registration) => this.#store.register(registration);
  heartbeat: RunnerAgents['heartbeat'] = (id) => this.#store.heartbeat(id);
  confirm: RunnerAgents['confirm'] = (id, epoch) => this.#store.confirm(id, epoch);
  release: RunnerAgents['release'] = (id, epoch) => this.#store.release(id, epoch);
  drain: RunnerAgents['drain'] = (ids, reason) => this.#store.drain(ids, reason);
}
