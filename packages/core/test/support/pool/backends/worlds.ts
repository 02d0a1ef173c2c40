/** Stores, clocks and queues to test queue backends with. */
import { setImmediate as eventLoopTurn } from 'node:timers/promises';

import { SqsClassicBackend } from '../../../../src/pool/backends/sqs-classic.ts';
import { SqsShardedBackend } from '../../../../src/pool/backends/sqs-sharded.ts';
import { shardOf } from '../../../../src/pool/backends/shards.ts';
import type { PickupPolicy } from '../../../../src/pool/pickup/policy.ts';
import type { PoolBackend } from '../../../../src/pool/port/backend.ts';
import type { RunnerStore } from '../../../../src/pool/port/store.ts';
import type { KnownType, KnownTypes } from '../../../../src/pool/port/types.ts';
import { MemoryRunnerStore } from '@heddle/test-support/pool/memory-store/memory-store';
import type { MessageQueue } from '../../../../src/queue/port.ts';
import { systemClock, type Clock, type VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { CLASSES, TIMES } from '../store/fixture.ts';
import type { OpenedBackend } from './suite.ts';

export type QueueDriver = 'sqs-classic' | 'sqs-sharded';

export const QUEUE_DRIVERS: readonly QueueDriver[] = ['sqs-classic', 'sqs-sharded'];

/** A clock that can be advanced without yielding to the event loop; timers remain those of the underlying clock. */
export class ShiftedClock implements Clock {
  readonly #clock: Clock;
  #shift = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get moment(): { now: number } {
    const now = (): number => this.now();
    const shift = (ms: number): void => void (this.#shift += ms);
    return {
      get now() {
        return now();
      },
      set now(value: number) {
        shift(value - now());
      },
    };
  }

  now(): number {
    return this.#clock.now() + this.#shift;
  }

  monotonic(): number {
    return this.#clock.monotonic() + this.#shift;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#clock.sleep(ms, signal);
  }

  after(ms: number, run: () => void): () => void {
    return this.#clock.after(ms, run);
  }
}

/** Lists types by reading every runner. */
class TypesOfStore implements KnownTypes {
  readonly #store: Pick<RunnerStore, 'list'>;

  constructor(store: Pick<RunnerStore, 'list'>) {
    this.#store = store;
  }

  async list(): Promise<KnownType[]> {
    const runners = await this.#store.list({}, { offset: 0, limit: 1_000 });
    const byType = Map.groupBy(runners, (runner) => `${shardOf(runner)} ${runner.memory_mib}`);
    return [...byType.values()].map((alike) => ({
      ...alike[0]!,
      idle: alike.filter(({ state }) => state === 'idle').length,
    }));
  }
}

export interface BackendWords {
  readonly store: RunnerStore;
  readonly queue: MessageQueue;
  readonly clock: Clock;
  readonly policy: Partial<PickupPolicy>;
}

function newBackend(driver: QueueDriver, { store, queue, clock, policy }: BackendWords): PoolBackend {
  const options = { store, queue, classes: CLASSES, policy, clock, log: silentLogger };
  if (driver === 'sqs-classic') return new SqsClassicBackend(options);
  return new SqsShardedBackend({ ...options, types: new TypesOfStore(store) });
}

/** Two processes with one in-memory store and one queue. */
export function openWorld(
  driver: QueueDriver,
  queue: MessageQueue,
  policy: Partial<PickupPolicy>,
  virtual: VirtualClock | null,
): OpenedBackend {
  const clock = new ShiftedClock(virtual ?? systemClock);
  const now = (): number => clock.now();
  const store = new MemoryRunnerStore({ times: TIMES, classes: CLASSES, max_uses: null, now });
  const options = { store, queue, clock, policy: { offer_delay_ms: 0, ...policy } };
  const { moment } = clock;
  return {
    backend: newBackend(driver, options),
    other: newBackend(driver, options),
    store,
    moment,
    pass: async (ms) => {
      if (virtual === null) moment.now += ms;
      else await virtual.advance(ms);
    },
    settle: virtual === null ? (promise) => promise : (promise) => settled(promise, virtual),
  };
}

/** Awaits a promise, advancing the clock only while it waits for time. */
export async function settled<T>(promise: Promise<T>, clock: VirtualClock): Promise<T> {
  const state = { hasSettled: false };
  const end = (): void => void (state.hasSettled = true);
  promise.then(end, end);
  for (;;) {
    await eventLoopTurn();
    if (state.hasSettled) return await promise;
    if (clock.timers > 0) await clock.advance(100);
  }
}
