import { type Clock, systemClock } from '../runtime/clock.ts';
import { onNextTurn } from '../runtime/turn.ts';

/** Of all listeners of an executor together, unless told otherwise. */
const UNITS_PER_TURN = 16;
/** After the work of a turn, others have so many times as long as it took, before there is more of it. */
const REST_FACTOR = 2;
/** What took longer was somebody else's, or the machine's. */
const BUSY_MS_MAX = 25;

/** What work for a caller costs, as shares of what a turn has for all of them: about 50 µs each. */
export const UNITS = {
  /** A piece that was read, a small request over TCP. */
  piece: 1,
  /** A request over HTTP. */
  request: 8,
  /** A stream of HTTP/2, which is a call of the library. */
  stream: 8,
} as const;

interface Waiting {
  readonly units: number;
  readonly run: () => void;
}

/**
 * Bounds what unproven callers make the executor do in one turn of its event loop, of all listeners together: what is beyond
 * begins in a later turn, in the order in which it came, and the two thirds of the time between are for others. So callers who
 * have proven a key meet no such work in most of their calls, and a bounded piece of it in the others; a newcomer waits for
 * those before it.
 */
export class UnprovenTurns {
  readonly #clock: Clock;
  readonly #unitsMax: number;
  readonly #waiting = new Set<Waiting>();
  #taken = 0;
  #isArmed = false;

  constructor(clock = systemClock, unitsMax = UNITS_PER_TURN) {
    this.#clock = clock;
    this.#unitsMax = unitsMax;
  }

  /** Runs `run` now, or in a later turn where this one has no room left. Returns how to give it up. */
  enter(units: number, run: () => void): () => void {
    if (this.#waiting.size === 0 && this.#taken < this.#unitsMax) {
      this.#take(units);
      run();
      return () => undefined;
    }
    const waiting = { units, run };
    this.#waiting.add(waiting);
    this.#arm();
    return () => void this.#waiting.delete(waiting);
  }

  #take(units: number): void {
    this.#taken += units;
    this.#arm();
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    const startedAt = this.#clock.monotonic();
    onNextTurn(() => {
      const busyMs = Math.min(BUSY_MS_MAX, this.#clock.monotonic() - startedAt);
      this.#clock.after(busyMs * REST_FACTOR, () => this.#begin());
    });
  }

  #begin(): void {
    this.#isArmed = false;
    this.#taken = 0;
    for (const waiting of this.#waiting) {
      if (this.#taken >= this.#unitsMax) break;
      this.#waiting.delete(waiting);
      this.#take(waiting.units);
      waiting.run();
    }
    if (this.#waiting.size > 0) this.#arm();
  }
}
