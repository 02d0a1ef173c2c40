import type { RunnerMessage } from '../domain/runner/runner.ts';
import type { PoolContext } from './context.ts';

const PAGE = 500;
/** An idle runner that nobody has found for so long is offered again: the message about it may be lost. */
const OFFER_AGAIN_MS = 120_000;
const PAGES_MAX = 100;

/** Tells the backend of idle runners. */
export class Offerer {
  readonly #context: PoolContext;
  /** Taken from the store as offered, and not told yet. */
  #untold: readonly RunnerMessage[] = [];

  constructor(context: PoolContext) {
    this.#context = context;
  }

  async runOnce(): Promise<'again' | 'idle'> {
    return (await this.#offer(this.#context.clock.now() - OFFER_AGAIN_MS)) >= PAGE ? 'again' : 'idle';
  }

  /** Tells of every idle runner, whether it was told before or not; returns how many. */
  async offerAll(): Promise<number> {
    // What is offered from now on has been told of meanwhile.
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
    // That one looks into the store itself.
    if (backend.driver === 'postgres') return 0;
    if (this.#untold.length === 0) this.#untold = await store.unoffered(PAGE, before);
    const count = this.#untold.length;
    const now = clock.now();
    const fresh = this.#untold.filter(({ threshold }) => threshold > now);
    if (fresh.length > 0) await backend.offer(fresh);
    this.#untold = [];
    return count;
  }
}
