import type { ResourceClass } from '@heddle/base/vocabulary/resource-class';
import type { RunnerMessage } from '../../domain/runner/runner.ts';
import { ClaimWorkers } from '../pickup/claim-worker.ts';
import { PickupManager } from '../pickup/pickup-manager.ts';
import { CLASSIC_POLICY, type PickupPolicy } from '../pickup/policy.ts';
import type { PoolMessages } from '../pickup/pool-messages.ts';
import type { BackendCounts, PoolBackend, Served } from '../port/backend.ts';
import type { RunnerRequest } from '../port/store.ts';
import { inTurn } from './in-turn.ts';
import { byName, messagesOf, newCounts, type QueueBackendOptions } from './queue-backend.ts';

/** Returns the queue name of a class. */
export function classQueueOf({ resource_class }: Pick<RunnerMessage, 'resource_class'>): string {
  return `pool:${resource_class}`;
}

/**
 * Uses one queue per resource class. Each request searches it message by message, with short polls: fitting runners are
 * claimed, others are requeued with a delay, and an empty response counts as an empty pool.
 */
export class SqsClassicBackend implements PoolBackend {
  readonly driver = 'sqs-classic';
  readonly counts: BackendCounts = newCounts();
  readonly #options: QueueBackendOptions;
  readonly #policy: PickupPolicy;
  readonly #classes: ReadonlyMap<string, ResourceClass>;
  readonly #messages: PoolMessages;

  constructor(options: QueueBackendOptions) {
    this.#options = { ...options, log: options.log.child({ backend: this.driver }) };
    this.#policy = { ...CLASSIC_POLICY, ...options.policy };
    this.#classes = byName(options.classes);
    const { driver, counts } = this;
    this.#messages = messagesOf(this.#options, { driver, counts, queueOf: classQueueOf, policy: this.#policy });
  }

  /**
   * Requests that were not served because another one failed are `uncertain`.
   *
   * @throws errors of the queue or the store, if no request was served
   */
  async serve(requests: readonly RunnerRequest[]): Promise<Served[]> {
    const { results, failure } = await inTurn(requests, this.#policy.width, (request) => this.#serveOne(request));
    if (failure !== null) {
      if (results.every((served) => (served?.grant ?? null) === null)) throw failure.error;
      this.#options.log.warn({ err: failure.error }, 'could not serve some requests from the pool');
    }
    return requests.map(({ id }, at) => results[at] ?? { request_id: id, grant: null, exhaustion: 'uncertain' });
  }

  async offer(runners: readonly RunnerMessage[]): Promise<void> {
    await this.#messages.send(runners, this.#policy.offer_delay_ms);
  }

  async #serveOne(request: RunnerRequest): Promise<Served> {
    // An unknown class has no runners and needs no queue.
    if (!this.#classes.has(request.resource_class)) {
      return { request_id: request.id, grant: null, exhaustion: 'global' };
    }
    const { store, clock, log } = this.#options;
    const shared = { messages: this.#messages, policy: this.#policy, counts: this.counts, clock };
    const manager = new PickupManager({
      ...shared,
      queue: classQueueOf(request),
      requirements: request,
      classes: this.#classes,
    });
    return await new ClaimWorkers(request, { ...shared, manager, store, log }).serve();
  }
}
