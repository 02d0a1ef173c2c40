import { shapeKeyOf } from '@heddle/base/vocabulary/requirements';
import type { Clock } from '@heddle/base/clock';
import { claimCandidates, deleteSpent, type ClaimOptions } from '../pickup/claim.ts';
import type { PickupPolicy } from '../pickup/policy.ts';
import type { Candidate } from '../pickup/pool-messages.ts';
import type { Served } from '../port/backend.ts';
import { lackingOf, type Exhaustion, type Grant, type RunnerRequest } from '../port/store.ts';
import { inTurn } from './in-turn.ts';
import { ShardPolls } from './sharded-looks.ts';
import { Supply, type SupplyOptions } from './sharded-supply.ts';
import type { Shards } from './shards.ts';

export interface ServingOptions extends ClaimOptions, SupplyOptions {
  readonly shards: Shards;
  readonly policy: PickupPolicy;
  readonly clock: Clock;
}

/** A request that is being served, with the candidates held for it. */
interface PendingRequest {
  readonly request: RunnerRequest;
  /** Equal for requests with the same requirements. */
  readonly shape: string;
  held: readonly Candidate[];
  served: Served | null;
}

/**
 * Serves one set of requests: receives runners shard by shard, in batches shared by all requests, and distributes them
 * in request order. As soon as a request has enough candidates, they are claimed.
 */
export class ShardedServing {
  readonly #options: ServingOptions;
  readonly #pending: readonly PendingRequest[];
  readonly #supply: Supply;
  readonly #polls: ShardPolls;
  /** By shape. */
  #shardsOf = new Map<string, readonly string[]>();
  readonly #messagesMax: number;
  readonly #endsAt: number;
  #rereadAtEnd = false;

  constructor(requests: readonly RunnerRequest[], options: ServingOptions) {
    this.#options = options;
    this.#pending = requests.map((request) => ({ request, shape: shapeKeyOf(request), held: [], served: null }));
    this.#supply = new Supply(options);
    this.#polls = new ShardPolls({ ...options, supply: this.#supply });
    this.#endsAt = options.clock.monotonic() + options.policy.look_ms;
    this.#messagesMax = options.policy.looks_max + 2 * requests.reduce((sum, request) => sum + lackingOf(request), 0);
  }

  /** @throws errors of the queue or the store, if no request was served */
  async run(): Promise<Served[]> {
    try {
      if (!this.#options.shards.isFresh) await this.#refresh();
      do {
        this.#distribute();
        await this.#claim();
      } while (await this.#poll());
    } catch (error) {
      if (this.#pending.every(({ served }) => (served?.grant ?? null) === null)) throw error;
      this.#options.log.warn({ err: error }, 'could not serve some requests from the pool');
    } finally {
      await this.#giveBack();
    }
    return this.#pending.map(({ request, served }) => served ?? answer(request, null, 'uncertain'));
  }

  /** Distributes held candidates to requests, in request order. */
  #distribute(): void {
    for (const pending of this.#lacking()) {
      const { request, held } = pending;
      const shards = this.#shards(pending);
      pending.held = [...held, ...this.#supply.take(shards, request, lackingOf(request) - held.length)];
    }
  }

  async #claim(): Promise<void> {
    const full = this.#pending.filter(
      ({ served, held, request }) => served === null && held.length === lackingOf(request),
    );
    const spent: Candidate[] = [];
    const { failure } = await inTurn(full, this.#options.policy.width, async (pending) => {
      this.#options.counts.picked += pending.held.length;
      const claim = await claimCandidates(pending.request.id, pending.held, this.#options);
      spent.push(...claim.spent);
      pending.held = claim.left;
      if (claim.settled) this.#end(pending, claim.grant, claim.barred ? 'local' : null);
    });
    await deleteSpent(spent, this.#options);
    if (failure !== null) throw failure.error;
  }

  /** Polls for missing runners; returns false if nothing more can be found. */
  async #poll(): Promise<boolean> {
    const lacking = this.#lacking();
    if (lacking.length === 0) return false;
    if (this.#polls.received >= this.#messagesMax || this.#options.clock.monotonic() >= this.#endsAt) return false;
    const open = this.#wantedOf(lacking, 'open', 1);
    if (open.size > 0) {
      await this.#polls.poll(open);
      return true;
    }
    const unconfirmed = this.#wantedOf(lacking, 'empty', Number.POSITIVE_INFINITY);
    if (unconfirmed.size > 0) {
      await this.#polls.confirm(unconfirmed);
      return true;
    }
    if (!this.#rereadAtEnd) {
      // Other processes may have launched new types, which have their own shards, and idle counts have changed.
      this.#rereadAtEnd = true;
      await this.#refresh();
      return true;
    }
    return this.#endLast(lacking);
  }

  /** Returns how many runners these requests want of each shard in the given state, at most `shardsMax` per request. */
  #wantedOf(requests: readonly PendingRequest[], state: 'open' | 'empty', shardsMax: number): Map<string, number> {
    const wanted = new Map<string, number>();
    for (const pending of requests) {
      const shards = this.#shards(pending).filter((shard) => this.#polls.stateOf(shard) === state);
      for (const shard of shards.slice(0, shardsMax)) {
        wanted.set(shard, (wanted.get(shard) ?? 0) + lackingOf(pending.request) - pending.held.length);
      }
    }
    return wanted;
  }

  /**
   * Called when nothing more can be found: ends the last request that holds candidates, so that earlier requests may
   * get enough. Returns whether another request may benefit.
   */
  #endLast(lacking: readonly PendingRequest[]): boolean {
    const holder = lacking.findLast(({ held }) => held.length > 0);
    for (const pending of holder === undefined ? lacking : [holder]) {
      const { request } = pending;
      this.#end(pending, null, this.#options.shards.exhaustionOf(request, lackingOf(request)));
    }
    return holder !== undefined && lacking.length > 1;
  }

  #end(pending: PendingRequest, grant: Grant | null, exhaustion: Exhaustion | null): void {
    pending.served = answer(pending.request, grant, exhaustion);
    this.#supply.put(pending.held);
    pending.held = [];
  }

  #lacking(): PendingRequest[] {
    return this.#pending.filter(({ served, held, request }) => served === null && held.length < lackingOf(request));
  }

  #shards({ request, shape }: PendingRequest): readonly string[] {
    const known = this.#shardsOf.get(shape);
    if (known !== undefined) return known;
    const shards = this.#options.shards.matching(request);
    this.#shardsOf.set(shape, shards);
    return shards;
  }

  async #refresh(): Promise<void> {
    this.#options.counts.operations += 1;
    await this.#options.shards.refresh();
    this.#shardsOf.clear();
  }

  /** Returns unused candidates at once. If that fails, they reappear after their visibility timeout. */
  async #giveBack(): Promise<void> {
    const left = [...this.#supply.takeAll(), ...this.#pending.flatMap(({ held }) => held)];
    await this.#options.messages
      .requeue(left, 0)
      .catch((error: unknown) =>
        this.#options.log.debug(
          { err: error },
          'could not return candidates; they reappear after their visibility timeout',
        ),
      );
  }
}

function answer(request: RunnerRequest, grant: Grant | null, exhaustion: Exhaustion | null): Served {
  return { request_id: request.id, grant, exhaustion };
}
