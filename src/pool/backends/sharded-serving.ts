import { shapeKeyOf } from '../../domain/runner/requirements.ts';
import type { Clock } from '../../runtime/clock.ts';
import { claimCandidates, deleteSpent, type ClaimOptions } from '../pickup/claim.ts';
import type { PickupPolicy } from '../pickup/policy.ts';
import type { Candidate } from '../pickup/pool-messages.ts';
import type { Served } from '../port/backend.ts';
import { lackingOf, type Exhaustion, type Grant, type RunnerRequest } from '../port/store.ts';
import { inTurn } from './in-turn.ts';
import { Looks } from './sharded-looks.ts';
import { Supply, type SupplyOptions } from './sharded-supply.ts';
import type { Shards } from './shards.ts';

export interface ServingOptions extends ClaimOptions, SupplyOptions {
  readonly shards: Shards;
  readonly policy: PickupPolicy;
  readonly clock: Clock;
}

/** A request on its way to its runners. */
interface Wish {
  readonly request: RunnerRequest;
  /** Equal for requests that the same runners satisfy. */
  readonly shape: string;
  held: readonly Candidate[];
  served: Served | null;
}

/**
 * Serves one set of requests: what they lack is received shard by shard, in batches that they share, and given out in
 * their order; each that has as many as it asks for is claimed for at once.
 */
export class ShardedServing {
  readonly #options: ServingOptions;
  readonly #wishes: readonly Wish[];
  readonly #supply: Supply;
  readonly #looks: Looks;
  /** By shape. */
  #shardsOf = new Map<string, readonly string[]>();
  readonly #messagesMax: number;
  readonly #endsAt: number;
  #rereadAtEnd = false;

  constructor(requests: readonly RunnerRequest[], options: ServingOptions) {
    this.#options = options;
    this.#wishes = requests.map((request) => ({ request, shape: shapeKeyOf(request), held: [], served: null }));
    this.#supply = new Supply(options);
    this.#looks = new Looks({ ...options, supply: this.#supply });
    this.#endsAt = options.clock.monotonic() + options.policy.look_ms;
    this.#messagesMax = options.policy.looks_max + 2 * requests.reduce((sum, request) => sum + lackingOf(request), 0);
  }

  /** @throws what the queue or the store throws, where it served nobody */
  async run(): Promise<Served[]> {
    try {
      if (!this.#options.shards.isFresh) await this.#refresh();
      do {
        this.#giveOut();
        await this.#claim();
      } while (await this.#look());
    } catch (error) {
      if (this.#wishes.every(({ served }) => (served?.grant ?? null) === null)) throw error;
      this.#options.log.warn({ err: error }, 'Some requests could not be served from the pool');
    } finally {
      await this.#giveBack();
    }
    return this.#wishes.map(({ request, served }) => served ?? answer(request, null, 'uncertain'));
  }

  /** Gives what is held to requests in their order. */
  #giveOut(): void {
    for (const wish of this.#lacking()) {
      const { request, held } = wish;
      const shards = this.#shards(wish);
      wish.held = [...held, ...this.#supply.take(shards, request, lackingOf(request) - held.length)];
    }
  }

  async #claim(): Promise<void> {
    const full = this.#wishes.filter(
      ({ served, held, request }) => served === null && held.length === lackingOf(request),
    );
    const spent: Candidate[] = [];
    const { failure } = await inTurn(full, this.#options.policy.width, async (wish) => {
      this.#options.counts.picked += wish.held.length;
      const claim = await claimCandidates(wish.request.id, wish.held, this.#options);
      spent.push(...claim.spent);
      wish.held = claim.left;
      if (claim.settled) this.#end(wish, claim.grant, claim.barred ? 'local' : null);
    });
    await deleteSpent(spent, this.#options);
    if (failure !== null) throw failure.error;
  }

  /** Looks for what requests lack. False where that is of no more use. */
  async #look(): Promise<boolean> {
    const lacking = this.#lacking();
    if (lacking.length === 0) return false;
    if (this.#looks.received >= this.#messagesMax || this.#options.clock.monotonic() >= this.#endsAt) return false;
    const open = this.#wantedOf(lacking, 'open', 1);
    if (open.size > 0) {
      await this.#looks.look(open);
      return true;
    }
    const doubtful = this.#wantedOf(lacking, 'empty', Number.POSITIVE_INFINITY);
    if (doubtful.size > 0) {
      await this.#looks.confirm(doubtful);
      return true;
    }
    if (!this.#rereadAtEnd) {
      // Types that somebody else has launched meanwhile have shards of their own, and what is idle has changed.
      this.#rereadAtEnd = true;
      await this.#refresh();
      return true;
    }
    return this.#endLast(lacking);
  }

  /** What these requests want of their shards in that state, each of at most so many of them. */
  #wantedOf(wishes: readonly Wish[], state: 'open' | 'empty', shardsMax: number): Map<string, number> {
    const wanted = new Map<string, number>();
    for (const wish of wishes) {
      const shards = this.#shards(wish).filter((shard) => this.#looks.stateOf(shard) === state);
      for (const shard of shards.slice(0, shardsMax)) {
        wanted.set(shard, (wanted.get(shard) ?? 0) + lackingOf(wish.request) - wish.held.length);
      }
    }
    return wanted;
  }

  /**
   * Nothing more is to be found: requests that hold too few let go of them, the last one first, so that those before it
   * may have enough. True where another one may.
   */
  #endLast(lacking: readonly Wish[]): boolean {
    const holder = lacking.findLast(({ held }) => held.length > 0);
    for (const wish of holder === undefined ? lacking : [holder]) {
      const { request } = wish;
      this.#end(wish, null, this.#options.shards.exhaustionOf(request, lackingOf(request)));
    }
    return holder !== undefined && lacking.length > 1;
  }

  #end(wish: Wish, grant: Grant | null, exhaustion: Exhaustion | null): void {
    wish.served = answer(wish.request, grant, exhaustion);
    this.#supply.put(wish.held);
    wish.held = [];
  }

  #lacking(): Wish[] {
    return this.#wishes.filter(({ served, held, request }) => served === null && held.length < lackingOf(request));
  }

  #shards({ request, shape }: Wish): readonly string[] {
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

  /** What is left over goes back at once. Where that fails, it is back when its visibility ends. */
  async #giveBack(): Promise<void> {
    const left = [...this.#supply.takeAll(), ...this.#wishes.flatMap(({ held }) => held)];
    await this.#options.messages
      .requeue(left, 0)
      .catch((error: unknown) =>
        this.#options.log.debug({ err: error }, 'Candidates come back when their time is over'),
      );
  }
}

function answer(request: RunnerRequest, grant: Grant | null, exhaustion: Exhaustion | null): Served {
  return { request_id: request.id, grant, exhaustion };
}
