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

/** Ends what is past its time. */
export class Sweeper {
  readonly #context: PoolContext;
  readonly #targets: IdleTargets;

  constructor(context: PoolContext, targets: IdleTargets) {
    this.#context = context;
    this.#targets = targets;
  }

  async runOnce(): Promise<Swept> {
    const { store, clock, metrics, log } = this.#context;
    const { ended, requeued, expired, released } = await store.sweep(LIMIT, this.#targets.at(clock.now()));
    let count = 0;
    for (const [reason, ones] of Object.entries(ended)) {
      count += ones;
      metrics?.ended(reason, ones);
    }
    if (count > 0) log.info({ ended, requeued }, 'Runners whose time was over were ended');
    const touched = count + expired + released;
    return { ended: count, stirred: touched + requeued > 0, again: touched >= LIMIT };
  }
}

/** Removes what ended longer ago than it is kept; whether there is more. */
export async function forgetOnce({ store, clock, policy }: PoolContext): Promise<boolean> {
  return (await store.forget(clock.now() - policy.keep_ms, LIMIT)) >= LIMIT;
}
