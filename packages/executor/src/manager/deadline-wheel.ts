import type { Clock } from '@heddle/base/clock';

const TICK_MS = 50;

/** Runs many short waits on one timer, each up to one tick late. */
export class DeadlineWheel {
  readonly #clock: Clock;
  readonly #ticks = new Map<number, Set<() => void>>();
  #cancelTimer: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs `run` once after `ms`; returns a function that cancels it. */
  after(ms: number, run: () => void): () => void {
    const tick = Math.ceil((this.#clock.monotonic() + ms) / TICK_MS);
    let due = this.#ticks.get(tick);
    if (due === undefined) this.#ticks.set(tick, (due = new Set()));
    due.add(run);
    this.#arm();
    return () => {
      due.delete(run);
      if (due.size === 0 && this.#ticks.get(tick) === due) this.#ticks.delete(tick);
    };
  }

  close(): void {
    this.#cancelTimer?.();
    this.#ticks.clear();
  }

  #arm(): void {
    this.#cancelTimer ??= this.#clock.after(TICK_MS, () => {
      this.#cancelTimer = null;
      this.#runDue();
      if (this.#ticks.size > 0) this.#arm();
    });
  }

  #runDue(): void {
    const now = Math.floor(this.#clock.monotonic() / TICK_MS);
    for (const [tick, due] of this.#ticks) {
      if (tick > now) continue;
      this.#ticks.delete(tick);
      for (const run of due) run();
    }
  }
}
