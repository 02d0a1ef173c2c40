import type { ResourceClass } from '../../domain/runner/resource-class.ts';
import type { RunnerMessage } from '../../domain/runner/runner.ts';
import { ClaimWorkers } from '../pickup/claim-worker.ts';
import { PickupManager } from '../pickup/pickup-manager.ts';
import { CLASSIC_POLICY, type PickupPolicy } from '../pickup/policy.ts';
import type { PoolMessages } from '../pickup/pool-messages.ts';
import type { BackendCounts, PoolBackend, Served } from '../port/backend.ts';
import type { RunnerRequest } from '../port/store.ts';
import { inTurn } from './in-turn.ts';
import { byName, messagesOf, newCounts, type QueueBackendOptions } from './queue-backend.ts';

/** The queue of a class. */
export function classQueueOf({ resource_class }: Pick<RunnerMessage, 'resource_class'>): string {
  return `pool:${resource_class}`;
}

/**
 * One queue for each resource class. Each request looks through it message by message, with short polls: what fits is
 * claimed, what is somebody else's goes back with a delay, and an empty answer counts as an empty pool.
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
   * A request that could not be looked after since another one failed is `uncertain`.
   *
   * @throws what the queue or the store throws, where it served nobody
   */
  async serve(requests: readonly RunnerRequest[]): Promise<Served[]> {
    const { results, failure } = await inTurn(requests, this.#policy.width, (request) => this.#serveOne(request));
    if (failure !== null) {
      if (results.every((served) => (served?.grant ?? null) === null)) throw failure.error;
      this.#options.log.warn({ err: failure.error }, 'Some requests could not be served from the pool');
    }
    return requests.map(({ id }, at) => results[at] ?? { request_id: id, grant: null, exhaustion: 'uncertain' });
  }

  async offer(runners: readonly RunnerMessage[]): Promise<void> {
    await this.#messages.send(runners, this.#policy.offer_delay_ms);
  }

  async #serveOne(request: RunnerRequest): Promise<Served> {
    // A class that nobody has offers no runners, and needs no queue.
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
