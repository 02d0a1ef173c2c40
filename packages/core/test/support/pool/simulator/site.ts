import { PostgresBackend } from '../../../../src/pool/backends/postgres.ts';
import { SqsClassicBackend } from '../../../../src/pool/backends/sqs-classic.ts';
import { SqsShardedBackend } from '../../../../src/pool/backends/sqs-sharded.ts';
import type { PoolPolicy } from '../../../../src/pool/context.ts';
import { Pool } from '../../../../src/pool/pool.ts';
import type { PoolBackend } from '../../../../src/pool/port/backend.ts';
import type { RunnerProvider } from '../../../../src/pool/port/provider.ts';
import type { RunnerStore } from '../../../../src/pool/port/store.ts';
import type { KnownTypes } from '../../../../src/pool/port/types.ts';
import type { MessageQueue } from '../../../../src/queue/port.ts';
import type { VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import type { Dice } from './dice.ts';
import { Mortal, type Perils } from './mortal.ts';

export const DRIVERS = ['postgres', 'sqs-classic', 'sqs-sharded'] as const;
export type Driver = (typeof DRIVERS)[number];

export interface SiteOptions {
  readonly driver: Driver;
  readonly store: RunnerStore;
  readonly types: KnownTypes;
  readonly queue: MessageQueue;
  readonly provider: RunnerProvider;
  readonly policy: PoolPolicy;
  readonly clock: VirtualClock;
  readonly dice: Dice;
  readonly perils: () => Perils;
  readonly onDeath: (where: string) => void;
}

/** Longer intervals than in production, where the result does not depend on them, to shorten a run. */
const INTERVALS = {
  ...{ serve_ms: 2_000, provision_ms: 2_000, launch_ms: 2_000, sweep_ms: 2_000, terminate_ms: 5_000, reap_ms: 15_000 },
  ...{ replenish_ms: 5_000, offer_ms: 2_000 },
};

/** A server of the pool with its state in memory; a killed one is replaced by another. */
export class Site {
  readonly #options: SiteOptions;
  #mortal!: Mortal;
  #pool!: Pool;
  #isStopped = false;

  constructor(options: SiteOptions) {
    this.#options = options;
  }

  start(): void {
    const { clock, dice, store, provider, policy } = this.#options;
    const mortal = new Mortal({ clock, dice, perils: () => this.#options.perils(), onDeath: (at) => this.#died(at) });
    const pool = new Pool(
      {
        store: mortal.line(store, 'store'),
        backend: this.#backend(mortal),
        provider: mortal.providerLine(provider),
        ...{ policy, clock, random: dice, log: silentLogger },
      },
      { intervals: INTERVALS },
    );
    this.#mortal = mortal;
    this.#pool = pool;
    pool.start();
  }

  wake(): void {
    if (!this.#mortal.isDead) this.#pool.wake();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    if (!this.#mortal.isDead) await this.#pool.stop();
  }

  #died(where: string): void {
    const { clock, dice, onDeath } = this.#options;
    onDeath(where);
    // Never resolves: its pending work hangs and has no effect.
    void this.#pool.stop();
    clock.after(dice.between(0, 5_000), () => {
      if (!this.#isStopped) this.start();
    });
  }

  #backend(mortal: Mortal): PoolBackend {
    const { driver, clock, policy, types } = this.#options;
    const store = mortal.line(this.#options.store, 'store');
    if (driver === 'postgres') return new PostgresBackend(store);
    const queue = mortal.line(this.#options.queue, 'queue');
    const options = { store, queue, classes: policy.classes, clock, log: silentLogger };
    if (driver === 'sqs-classic') return new SqsClassicBackend(options);
    return new SqsShardedBackend({ ...options, types: mortal.line(types, 'types') });
  }
}
