import { classify } from '../../domain/runner/classify.ts';
import type { Requirements } from '@heddle/base/vocabulary/requirements';
import type { ResourceClass } from '@heddle/base/vocabulary/resource-class';
import type { RunnerMessage } from '../../domain/runner/runner.ts';
import type { ReceivedMessage } from '../../queue/port.ts';
import type { Clock } from '@heddle/base/clock';
import type { BackendCounts } from '../port/backend.ts';
import type { Exhaustion } from '../port/store.ts';
import { readRunnerMessage } from './message.ts';
import type { PickupPolicy } from './policy.ts';
import type { Candidate, PoolMessages } from './pool-messages.ts';

export interface PickupManagerOptions {
  readonly messages: PoolMessages;
  /** The queue of the resource class. */
  readonly queue: string;
  readonly requirements: Requirements;
  /** All classes of the pool, by name. */
  readonly classes: ReadonlyMap<string, ResourceClass>;
  readonly policy: PickupPolicy;
  readonly counts: BackendCounts;
  readonly clock: Clock;
}

/**
 * Finds idle runners for one request, message by message; shared by all claim workers of the request. After it finds
 * the pool exhausted, it returns no more candidates.
 */
export class PickupManager {
  readonly #options: PickupManagerOptions;
  /** Number of messages seen per runner; bounded by `looks_max`. */
  readonly #sightings = new Map<string, number>();
  readonly #endsAt: number;
  #receives = 0;
  #requeued = 0;
  #exhaustion: Exhaustion | null = null;

  constructor(options: PickupManagerOptions) {
    this.#options = options;
    this.#endsAt = options.clock.monotonic() + options.policy.look_ms;
  }

  /** Null until the pool is exhausted. */
  get exhaustion(): Exhaustion | null {
    return this.#exhaustion;
  }

  /** Returns the next fitting runner and holds its message; null if the pool is exhausted for this request. */
  async next(): Promise<Candidate | null> {
    const { messages, queue, policy, clock } = this.#options;
    while (this.#exhaustion === null) {
      if (this.#receives >= policy.looks_max || clock.monotonic() >= this.#endsAt) {
        this.#exhaustion = 'uncertain';
        break;
      }
      this.#receives += 1;
      const [received] = await messages.receive(queue, { max: 1, wait_ms: 0 });
      const candidate = received === undefined ? this.#foundEmpty() : await this.#handle(received);
      if (candidate !== null) return candidate;
    }
    return null;
  }

  /** Handles an empty queue: runners that were just requeued are idle but do not fit this request. */
  #foundEmpty(): null {
    this.#exhaustion ??= this.#requeued > 0 ? 'local' : 'global';
    return null;
  }

  /** Accepts a message, requeues it or discards it. */
  async #handle(message: ReceivedMessage): Promise<Candidate | null> {
    const { messages, queue, policy, counts, requirements, classes, clock } = this.#options;
    const read = readRunnerMessage(message.body);
    if ('fault' in read) {
      await messages.discard([{ queue, message, reason: read.fault, expired: false }]);
      return null;
    }
    const candidate = { runner: read.message, queue, receipt: message.receipt };
    // Another claim worker found the pool exhausted while this message was being received.
    if (this.#isExhausted()) return await this.#requeue(candidate);
    if (this.#countSighting(read.message) > policy.tolerance) {
      this.#exhaustion = 'local';
      return await this.#requeue(candidate);
    }
    const resourceClass = classes.get(read.message.resource_class);
    const verdict = classify(read.message, requirements, resourceClass, clock.now());
    if (verdict.verdict === 'requeue') return await this.#requeue(candidate);
    if (verdict.verdict === 'discard') {
      const expired = read.message.threshold <= clock.now();
      await messages.discard([{ queue, message, reason: verdict.reason, expired }]);
      return null;
    }
    counts.picked += 1;
    return candidate;
  }

  async #requeue(candidate: Candidate): Promise<null> {
    this.#requeued += 1;
    await this.#options.messages.requeue([candidate], this.#options.policy.requeue_delay_ms);
    return null;
  }

  #countSighting({ id }: RunnerMessage): number {
    const sightings = (this.#sightings.get(id) ?? 0) + 1;
    this.#sightings.set(id, sightings);
    return sightings;
  }

  #isExhausted(): boolean {
    return this.#exhaustion !== null;
  }
}
