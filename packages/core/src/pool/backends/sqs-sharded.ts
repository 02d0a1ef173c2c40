import type { ResourceClass } from '@heddle/base/vocabulary/resource-class';
import type { RunnerMessage } from '../../domain/runner/runner.ts';
import { SHARDED_POLICY, type PickupPolicy } from '../pickup/policy.ts';
import type { PoolMessages } from '../pickup/pool-messages.ts';
import type { BackendCounts, PoolBackend, Served } from '../port/backend.ts';
import type { RunnerRequest } from '../port/store.ts';
import type { KnownTypes } from '../port/types.ts';
import { byName, messagesOf, newCounts, type QueueBackendOptions } from './queue-backend.ts';
import { ShardedServing } from './sharded-serving.ts';
import { shardOf, Shards } from './shards.ts';

export interface ShardedBackendOptions extends QueueBackendOptions {
  /** Lists the instance types, each of which has a shard. */
  readonly types: KnownTypes;
}

/**
 * Uses one queue per class, usage class and instance type, so that every received runner fits. Requests share batches.
 * An empty response is confirmed by a long poll before the pool counts as exhausted, so serving may take that long.
 */
export class SqsShardedBackend implements PoolBackend {
  readonly driver = 'sqs-sharded';
  readonly counts: BackendCounts = newCounts();
  readonly #options: ShardedBackendOptions;
  readonly #policy: PickupPolicy;
  readonly #classes: ReadonlyMap<string, ResourceClass>;
  readonly #shards: Shards;
  readonly #messages: PoolMessages;

  constructor(options: ShardedBackendOptions) {
    this.#options = { ...options, log: options.log.child({ backend: this.driver }) };
    this.#policy = { ...SHARDED_POLICY, ...options.policy };
    this.#classes = byName(options.classes);
    const { types, clock } = options;
    this.#shards = new Shards({ types, clock, classes: this.#classes });
    const { driver, counts } = this;
    this.#messages = messagesOf(this.#options, { driver, counts, queueOf: shardOf, policy: this.#policy });
  }

  /** @throws errors of the queue or the store, if no request was served */
  async serve(requests: readonly RunnerRequest[]): Promise<Served[]> {
    if (requests.length === 0) return [];
    const { store, clock, log } = this.#options;
    const serving = new ShardedServing(requests, {
      store,
      clock,
      log,
      classes: this.#classes,
      shards: this.#shards,
      policy: this.#policy,
      counts: this.counts,
      messages: this.#messages,
    });
    return await serving.run();
  }

  async offer(runners: readonly RunnerMessage[]): Promise<void> {
    await this.#messages.send(runners, this.#policy.offer_delay_ms);
  }
}
