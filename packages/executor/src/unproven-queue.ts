import { type Clock, systemClock } from '@heddle/base/clock';
import { onNextTurn } from '@heddle/base/turn';

/** Default for all listeners of an executor. */
const UNITS_PER_TURN = 16;
/** Rest after each batch of work, as a multiple of its duration. */
const REST_FACTOR = 2;
/** Longer durations are attributed to other work. */
const BUSY_MS_MAX = 25;

/** Cost of work in units of about 50 µs. */
export const UNITS = {
  /** A piece of input, such as a small request over TCP. */
  piece: 1,
  /** A request over HTTP. */
  request: 8,
  /** An HTTP/2 stream, which costs a library call. */
  stream: 8,
} as const;

interface Waiting {
  readonly units: number;
  readonly run: () => void;
}

/**
 * Limits the work for unproven callers per turn of the event loop, across all listeners. Excess work is queued in order
 * of arrival, and two thirds of the time between batches is left to others. Most calls of proven callers meet no such
 * work, and the others a bounded amount; newcomers wait their turn.
 */
export class UnprovenQueue {
  readonly #clock: Clock;
  readonly #unitsMax: number;
  readonly #waiting = new Set<Waiting>();
  #taken = 0;
  #isArmed = false;

  constructor(clock = systemClock, unitsMax = UNITS_PER_TURN) {
    this.#clock = clock;
    this.#unitsMax = unitsMax;
  }

  /** Runs `run` now, or in a later turn if the current one is full. Returns a function that cancels it. */
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
