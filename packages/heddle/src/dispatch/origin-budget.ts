import type { Clock } from '@heddle/base/clock';
import { Permits } from '@heddle/base/permits';
import type { Permit } from '@heddle/base/permits';

export interface OriginBudgetOptions {
  /** Maximum concurrent tries, as long as they are quick. */
  total: number;
  /** Maximum concurrent tries of one origin. */
  perOrigin: number;
  /** Additional concurrent tries of origins that respond slowly. */
  slowTotal: number;
  /** A longer try marks its origin as slow until it responds quickly again, milliseconds. */
  slowAfterMs: number;
  clock: Clock;
  /** Called when the budget allows further tries. */
  onRoom(): void;
}

/** Capacity for claims. */
export interface ClaimCapacity {
  limit: number;
  limit_per_origin: number;
  saturated_origins: string[];
}

/** One running try. */
export interface Slot {
  /** Called exactly once, when the try has ended. */
  end(): void;
}

interface OriginState {
  running: number;
  slow: boolean;
}

/** Slow origins that are remembered while they are idle. */
const IDLE_ORIGINS_MAX = 1000;

/**
 * Shares the concurrent tries among origins, so that no target holds back another: an origin has at most its own share,
 * and a slow try moves to a separate budget after a while and frees its place.
 */
export class OriginBudget {
  readonly #options: OriginBudgetOptions;
  readonly #quick: Permits;
  readonly #slow: Permits;
  readonly #origins = new Map<string, OriginState>();

  constructor(options: OriginBudgetOptions) {
    this.#options = options;
    this.#quick = new Permits(options.total);
    this.#slow = new Permits(options.slowTotal);
  }

  /** Quick tries that may still start. */
  get free(): number {
    return this.#quick.free;
  }

  get total(): number {
    return this.#quick.total;
  }

  /**
   * An origin is excluded while more than half of its share is in use, and the limit for one origin is the smallest
   * remaining share of the others: so no origin ever exceeds its share, whichever of them the claim returns.
   */
  room(): ClaimCapacity {
    const slowShare = this.#slowShare();
    const saturated_origins: string[] = [];
    let limit_per_origin = this.#options.perOrigin;
    for (const [origin, state] of this.#origins) {
      const share = state.slow ? slowShare : this.#options.perOrigin;
      if (state.running * 2 > share || (state.slow && this.#slow.free === 0)) saturated_origins.push(origin);
      else limit_per_origin = Math.min(limit_per_origin, share - state.running);
    }
    return { limit: this.#quick.free, limit_per_origin, saturated_origins };
  }

  /** Starts a try, which was already claimed and therefore is never rejected. */
  start(origin: string): Slot {
    const state = this.#stateOf(origin);
    state.running += 1;
    let permit: Permit | null = state.slow
      ? (this.#slow.tryAcquire() ?? this.#quick.tryAcquire())
      : this.#quick.tryAcquire();
    const heldSlow = { now: state.slow };
    const cancelTimer = this.#options.clock.after(this.#options.slowAfterMs, () => {
      state.slow = true;
      if (heldSlow.now) return;
      const moved = this.#slow.tryAcquire();
      if (moved === null) return;
      permit?.release();
      permit = moved;
      this.#options.onRoom();
    });
    const startedAt = this.#options.clock.monotonic();
    return {
      end: () => {
        cancelTimer();
        permit?.release();
        state.running -= 1;
        state.slow = this.#options.clock.monotonic() - startedAt >= this.#options.slowAfterMs;
        if (state.running === 0) this.#rest(origin, state);
        this.#options.onRoom();
      },
    };
  }

  #slowShare(): number {
    let active = 0;
    for (const { slow, running } of this.#origins.values()) if (slow && running > 0) active += 1;
    const share = Math.floor(this.#options.slowTotal / Math.max(1, active));
    return Math.min(this.#options.perOrigin, Math.max(1, share));
  }

  #stateOf(origin: string): OriginState {
    let state = this.#origins.get(origin);
    if (state === undefined) this.#origins.set(origin, (state = { running: 0, slow: false }));
    return state;
  }

  #rest(origin: string, state: OriginState): void {
    this.#origins.delete(origin);
    if (!state.slow) return;
    // Deleting and setting an origin moves it to the end: the map is in order of last use.
    this.#origins.set(origin, state);
    if (this.#origins.size <= IDLE_ORIGINS_MAX) return;
    for (const [name, { running }] of this.#origins) {
      if (running > 0) continue;
      this.#origins.delete(name);
      return;
    }
  }
}
