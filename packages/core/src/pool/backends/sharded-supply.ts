import { faultOf, mismatchOf } from '../../domain/runner/classify.ts';
import type { Requirements } from '@heddle/base/vocabulary/requirements';
import type { ResourceClass } from '@heddle/base/vocabulary/resource-class';
import type { ReceivedMessage } from '../../queue/port.ts';
import type { Clock } from '@heddle/base/clock';
import { readRunnerMessage } from '../pickup/message.ts';
import type { Candidate, Discard, PoolMessages } from '../pickup/pool-messages.ts';
import { shardOf } from './shards.ts';

export interface SupplyOptions {
  readonly messages: PoolMessages;
  readonly classes: ReadonlyMap<string, ResourceClass>;
  readonly clock: Clock;
}

/** Idle runners whose messages one serving holds but has not assigned to a request yet. */
export class Supply {
  readonly #options: SupplyOptions;
  /** By the shard of the runner, which may differ from the queue of its message. */
  readonly #byShard = new Map<string, Candidate[]>();
  /** All runners seen by this serving. */
  readonly #seen = new Set<string>();

  constructor(options: SupplyOptions) {
    this.#options = options;
  }

  /** Keeps valid messages, discards invalid ones, and drops duplicates. */
  async add(queue: string, received: readonly ReceivedMessage[]): Promise<void> {
    const discards: Discard[] = [];
    const duplicates: Candidate[] = [];
    for (const message of received) {
      const read = readRunnerMessage(message.body);
      const fault = 'fault' in read ? read.fault : faultOf(read.message, this.#classOf(read.message.resource_class));
      if ('fault' in read || fault !== null) {
        discards.push({ queue, message, reason: fault ?? '', expired: false });
        continue;
      }
      const runner = read.message;
      const candidate = { runner, queue, receipt: message.receipt };
      if (runner.threshold <= this.#options.clock.now()) {
        discards.push({ queue, message, reason: 'the runner has expired', expired: true });
      } else if (this.#seen.has(runner.id)) duplicates.push(candidate);
      else {
        this.#seen.add(runner.id);
        this.put([candidate]);
      }
    }
    await this.#options.messages.discard(discards);
    await this.#options.messages.drop(duplicates);
  }

  put(candidates: readonly Candidate[]): void {
    for (const candidate of candidates) {
      const shard = shardOf(candidate.runner);
      const held = this.#byShard.get(shard);
      if (held === undefined) this.#byShard.set(shard, [candidate]);
      else held.push(candidate);
    }
  }

  /** Takes at most `count` candidates that fit. */
  take(shards: readonly string[], requirements: Requirements, count: number): Candidate[] {
    const taken: Candidate[] = [];
    for (const shard of shards) {
      const there = this.#byShard.get(shard) ?? [];
      for (let at = there.length - 1; at >= 0 && taken.length < count; at -= 1) {
        if (mismatchOf(there[at]!.runner, requirements) !== null) continue;
        taken.push(...there.splice(at, 1));
      }
    }
    return taken;
  }

  takeAll(): Candidate[] {
    const all = [...this.#byShard.values()].flat();
    this.#byShard.clear();
    return all;
  }

  #classOf(name: string): ResourceClass | undefined {
    return this.#options.classes.get(name);
  }
}
