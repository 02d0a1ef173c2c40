import type { Clock } from '@heddle/base/clock';
import { onNextTurn } from '@heddle/base/turn';
import { TICK_MS } from './timing-wheel.ts';

/** Delay beyond which the process was busy: received answers are read before any query times out. */
const LATE_MS = 3 * TICK_MS;
const DRAIN_TURNS_MAX = 64;

/** Calls `onTick` about every `TICK_MS` while it returns that something is pending. */
export class Ticker {
  readonly #clock: Clock;
  readonly #received: () => number;
  readonly #onTick: (nowMs: number) => boolean;
  #dueAt = 0;
  #cancel: (() => void) | null = null;
  #stopped = false;

  /** @param received returns the number of packets received so far */
  constructor(clock: Clock, received: () => number, onTick: (nowMs: number) => boolean) {
    this.#clock = clock;
    this.#received = received;
    this.#onTick = onTick;
  }

  /** Starts ticking unless it already does. */
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

  /** Waits for turns that still deliver packets: a question answered in time must not time out. */
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
