import type { Clock } from '../../runtime/clock.ts';
import { onNextTurn } from '../../runtime/turn.ts';
import { TICK_MS } from './timing-wheel.ts';

/** Later than this, the process was busy: answers that lie in the sockets are read before anything is given up. */
const LATE_MS = 3 * TICK_MS;
const DRAIN_TURNS_MAX = 64;

/** Calls `onTick` about every `TICK_MS` for as long as that says that there is something to wait for. */
export class Ticker {
  readonly #clock: Clock;
  readonly #received: () => number;
  readonly #onTick: (nowMs: number) => boolean;
  #dueAt = 0;
  #cancel: (() => void) | null = null;
  #stopped = false;

  /** @param received how many packets have come in so far */
  constructor(clock: Clock, received: () => number, onTick: (nowMs: number) => boolean) {
    this.#clock = clock;
    this.#received = received;
    this.#onTick = onTick;
  }

  /** Starts ticking where it does not. */
  start(): void {
    if (this.#cancel !== null || this.#stopped) return;
    this.#dueAt = this.#clock.monotonic() + TICK_MS;
    this.#cancel = this.#clock.after(TICK_MS, () => {
      const nowMs = this.#clock.monotonic();
      if (nowMs - this.#dueAt > LATE_MS) this.#tickWhenDrained(nowMs, DRAIN_TURNS_MAX);
      else this.#tick(nowMs);
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  /** Turns that still bring packets in are waited for: what was answered in time must not be given up. */
  #tickWhenDrained(atMs: number, turns: number): void {
    const before = this.#received();
    onNextTurn(() => {
      if (this.#received() === before || turns === 0) this.#tick(atMs);
      else this.#tickWhenDrained(atMs, turns - 1);
    });
  }

  #tick(nowMs: number): void {
    this.#cancel = null;
    if (!this.#stopped && this.#onTick(nowMs)) this.start();
  }
}
