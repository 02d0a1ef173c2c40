import type { PoolContext } from './context.ts';
import type { IdleTargets } from './min-idle.ts';

const LIMIT = 1_000;

export interface Swept {
  /** Number of runners. */
  readonly ended: number;
  /** Whether something changed that other parts of the pool can act on. */
  readonly changed: boolean;
  /** Whether more work is left. */
  readonly again: boolean;
}

/** Ends overdue runners and requests, and counts ended runners. */
export class Sweeper {
  readonly #context: PoolContext;
  readonly #targets: IdleTargets;

  constructor(context: PoolContext, targets: IdleTargets) {
    this.#context = context;
    this.#targets = targets;
  }

  async runOnce(): Promise<Swept> {
    const { store, clock, log } = this.#context;
    const { ended, requeued, expired, released } = await store.sweep(LIMIT, this.#targets.at(clock.now()));
    const count = Object.values(ended).reduce((sum, ones) => sum + ones, 0);
    if (count > 0) log.info({ ended, requeued }, 'overdue runners ended');
    const touched = count + expired + released;
    const counted = await this.#count();
    return { ended: count, changed: touched + requeued > 0, again: touched >= LIMIT || counted >= LIMIT };
  }

  /** Counts all runners that ended since the last pass, including those ended by agents, users and other servers. */
  async #count(): Promise<number> {
    const { store, metrics } = this.#context;
    if (metrics === undefined) return 0;
    const ended = Object.entries(await store.countEnded(LIMIT));
    for (const [kind, count] of ended) metrics.ended(kind, count);
    return ended.reduce((sum, [, count]) => sum + count, 0);
  }
}

/** Deletes records past their retention; returns whether more are left. */
export async function forgetOnce({ store, clock, policy }: PoolContext): Promise<boolean> {
  return (await store.forget(clock.now() - policy.keep_ms, LIMIT)) >= LIMIT;
}
