import type { RunnerMessage } from '../domain/runner/runner.ts';
import type { PoolContext } from './context.ts';

const PAGE = 500;
/** An idle runner that was not claimed for this long is offered again, since its message may be lost. */
const OFFER_AGAIN_MS = 120_000;
const PAGES_MAX = 100;

/** Offers idle runners to the backend. */
export class Offerer {
  readonly #context: PoolContext;
  /** Marked as offered in the store, but not sent to the backend yet. */
  #pending: readonly RunnerMessage[] = [];

  constructor(context: PoolContext) {
    this.#context = context;
  }

  async runOnce(): Promise<'again' | 'idle'> {
    return (await this.#offer(this.#context.clock.now() - OFFER_AGAIN_MS)) >= PAGE ? 'again' : 'idle';
  }

  /** Offers every idle runner, including those offered before; returns how many. */
  async offerAll(): Promise<number> {
    // Excludes runners that are offered while this runs.
    const before = this.#context.clock.now();
    let offered = 0;
    for (let page = 0; page < PAGES_MAX; page += 1) {
      const count = await this.#offer(before);
      offered += count;
      if (count < PAGE) break;
    }
    return offered;
  }

  async #offer(before: number): Promise<number> {
    const { backend, store, clock } = this.#context;
    // The PostgreSQL backend reads the store directly.
    if (backend.driver === 'postgres') return 0;
    if (this.#pending.length === 0) this.#pending = await store.unoffered(PAGE, before);
    const count = this.#pending.length;
    const now = clock.now();
    const fresh = this.#pending.filter(({ threshold }) => threshold > now);
    if (fresh.length > 0) await backend.offer(fresh);
    this.#pending = [];
    return count;
  }
}
