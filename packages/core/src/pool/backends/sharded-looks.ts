import type { Logger } from '@heddle/base/log';
import { CALL_MAX, type PoolMessages } from '../pickup/pool-messages.ts';
import type { PickupPolicy } from '../pickup/policy.ts';
import { inTurn } from './in-turn.ts';
import type { Supply } from './sharded-supply.ts';
import type { Shards } from './shards.ts';

/** Maximum number of concurrent calls to one shard. */
const CALLS_MAX = 8;
/** Maximum number of concurrent long polls, equal to the number of connections that the SDK opens. */
const CONFIRMS_MAX = 50;

export interface ShardPollsOptions {
  readonly messages: PoolMessages;
  readonly shards: Shards;
  readonly supply: Supply;
  readonly policy: PickupPolicy;
  readonly log: Logger;
}

/** `empty`: a short poll, which may miss messages, returned nothing. `confirmed`: so did a long poll. */
type ShardState = 'open' | 'empty' | 'confirmed';

/** Polls shards and tracks their state during one serving. */
export class ShardPolls {
  readonly #options: ShardPollsOptions;
  readonly #states = new Map<string, ShardState>();
  /** Number of calls in the next poll of a shard; doubled while all calls come back full. */
  readonly #calls = new Map<string, number>();
  #received = 0;

  constructor(options: ShardPollsOptions) {
    this.#options = options;
  }

  /** Number of messages received so far. */
  get received(): number {
    return this.#received;
  }

  stateOf(shard: string): ShardState {
    return this.#states.get(shard) ?? 'open';
  }

  /** Short-polls these shards, each for the given number of runners. */
  async poll(wanted: ReadonlyMap<string, number>): Promise<void> {
    const calls = [...wanted].flatMap(([shard, count]) => {
      const most = Math.min(this.#calls.get(shard) ?? 1, Math.ceil(count / CALL_MAX));
      return Array.from({ length: most }, (_, at) => ({ shard, max: Math.min(CALL_MAX, count - at * CALL_MAX) }));
    });
    const found = new Map<string, number>();
    const full = new Set(wanted.keys());
    const { failure } = await inTurn(calls, this.#options.policy.width, async ({ shard, max }) => {
      const count = await this.#receive(shard, max, 0);
      found.set(shard, (found.get(shard) ?? 0) + count);
      if (count < max) full.delete(shard);
    });
    if (failure !== null) throw failure.error;
    for (const [shard, count] of found) {
      this.#options.shards.recordPoll(shard, count);
      this.#states.set(shard, count > 0 ? 'open' : 'empty');
      this.#calls.set(shard, full.has(shard) ? Math.min(CALLS_MAX, 2 * (this.#calls.get(shard) ?? 1)) : 1);
    }
  }

  /** Long-polls each of these shards; the first that returns messages aborts the others. */
  async confirm(wanted: ReadonlyMap<string, number>): Promise<void> {
    const found = new AbortController();
    const isDone = (): boolean => found.signal.aborted;
    const { failure } = await inTurn([...wanted], CONFIRMS_MAX, async ([shard, count]) => {
      if (isDone()) return;
      const received = await this.#receive(
        shard,
        Math.min(CALL_MAX, count),
        this.#options.policy.confirm_ms,
        found.signal,
      );
      if (received > 0) {
        this.#states.set(shard, 'open');
        this.#options.shards.recordPoll(shard, received);
        found.abort();
      } else if (!isDone()) this.#states.set(shard, 'confirmed');
    });
    if (failure !== null) throw failure.error;
  }

  async #receive(queue: string, max: number, waitMs: number, signal?: AbortSignal): Promise<number> {
    const { messages, supply } = this.#options;
    const call = signal === undefined ? { max, wait_ms: waitMs } : { max, wait_ms: waitMs, signal };
    const received = await messages.receive(queue, call);
    this.#received += received.length;
    await supply.add(queue, received);
    return received.length;
  }
}
