import type { PoolContext } from './context.ts';
import type { IdleTargets } from './min-idle.ts';

const LIMIT = 1_000;

export interface Swept {
  /** Runners. */
  readonly ended: number;
  /** Whether something changed that others of the pool can go on with. */
  readonly stirred: boolean;
  /** Whether more is to be swept at once. */
  readonly again: boolean;
}

/** Ends what is past its time, and counts what has ended. */
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
    if (count > 0) log.info({ ended, requeued }, 'Runners whose time was over were ended');
    const touched = count + expired + released;
    const counted = await this.#count();
    return { ended: count, stirred: touched + requeued > 0, again: touched >= LIMIT || counted >= LIMIT };
  }

  /** Counts what ended since the last look, whoever ended it: agents, people, launches and other servers among them. */
  async #count(): Promise<number> {
    const { store, metrics } = this.#context;
    if (metrics === undefined) return 0;
    const ended = Object.entries(await store.countEnded(LIMIT));
    for (const [kind, count] of ended) metrics.ended(kind, count);
    return ended.reduce((sum, [, count]) => sum + count, 0);
  }
}

/** Removes what ended longer ago than it is kept; whether there is more. */
export async function forgetOnce({ store, clock, policy }: PoolContext): Promise<boolean> {
  return (await store.forget(clock.now() - policy.keep_ms, LIMIT)) >= LIMIT;
}
