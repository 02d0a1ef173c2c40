import type { Logger } from '../../runtime/log.ts';
import { CALL_MAX, type PoolMessages } from '../pickup/pool-messages.ts';
import type { PickupPolicy } from '../pickup/policy.ts';
import { inTurn } from './in-turn.ts';
import type { Supply } from './sharded-supply.ts';
import type { Shards } from './shards.ts';

/** Calls to one shard at once. */
const CALLS_MAX = 8;
/** Long polls under way at once: as many connections as the SDK opens. */
const CONFIRMS_MAX = 50;

export interface LooksOptions {
  readonly messages: PoolMessages;
  readonly shards: Shards;
  readonly supply: Supply;
  readonly policy: PickupPolicy;
  readonly log: Logger;
}

/** `empty`: a short poll brought nothing, which asks only a part of the service. `confirmed`: a long poll neither. */
type ShardState = 'open' | 'empty' | 'confirmed';

/** What one serving has found out about shards. */
export class Looks {
  readonly #options: LooksOptions;
  readonly #states = new Map<string, ShardState>();
  /** Calls that the next look at a shard makes: more where the last ones came back full. */
  readonly #calls = new Map<string, number>();
  #received = 0;

  constructor(options: LooksOptions) {
    this.#options = options;
  }

  /** Messages so far. */
  get received(): number {
    return this.#received;
  }

  stateOf(shard: string): ShardState {
    return this.#states.get(shard) ?? 'open';
  }

  /** Short polls of these shards, for as many runners as each is wanted for. */
  async look(wanted: ReadonlyMap<string, number>): Promise<void> {
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
      this.#options.shards.noteLook(shard, count);
      this.#states.set(shard, count > 0 ? 'open' : 'empty');
      this.#calls.set(shard, full.has(shard) ? Math.min(CALLS_MAX, 2 * (this.#calls.get(shard) ?? 1)) : 1);
    }
  }

  /** One long poll of each of these shards; the first that brings something ends the others. */
  async confirm(wanted: ReadonlyMap<string, number>): Promise<void> {
    const found = new AbortController();
    const isOver = (): boolean => found.signal.aborted;
    const { failure } = await inTurn([...wanted], CONFIRMS_MAX, async ([shard, count]) => {
      if (isOver()) return;
      const received = await this.#receive(
        shard,
        Math.min(CALL_MAX, count),
        this.#options.policy.confirm_ms,
        found.signal,
      );
      if (received > 0) {
        this.#states.set(shard, 'open');
        this.#options.shards.noteLook(shard, received);
        found.abort();
      } else if (!isOver()) this.#states.set(shard, 'confirmed');
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
