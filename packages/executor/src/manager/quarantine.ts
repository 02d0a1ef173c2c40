import type { Clock } from '@heddle/base/clock';

const LOSSES_MAX = 3;
const WINDOW_MS = 60 * 60_000;
const KEYS_MAX = 10_000;

/** Blocks tasks, identified by event and arguments, that repeatedly lost their process. */
export class Quarantine {
  readonly #clock: Clock;
  /** Monotonic times of the last losses, oldest first; keys in order of their last loss. */
  readonly #losses = new Map<string, number[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether it is empty, which is nearly always and saves hashing a key. */
  get isEmpty(): boolean {
    return this.#losses.size === 0;
  }

  noteLoss(key: string): void {
    const now = this.#clock.monotonic();
    const losses = [...(this.#losses.get(key) ?? []), now].slice(-LOSSES_MAX);
    this.#losses.delete(key);
    if (this.#losses.size >= KEYS_MAX) {
      for (const oldest of this.#losses.keys()) {
        this.#losses.delete(oldest);
        break;
      }
    }
    this.#losses.set(key, losses);
  }

  /** Returns the seconds until the task may be retried; null if it may run now. */
  remainingSecs(key: string): number | null {
    const losses = this.#losses.get(key);
    if (losses === undefined || losses.length < LOSSES_MAX) return null;
    const [first, last] = [losses[0]!, losses.at(-1)!];
    const leftMs = last + WINDOW_MS - this.#clock.monotonic();
    if (leftMs <= 0 || last - first > WINDOW_MS) return null;
    return Math.ceil(leftMs / 1000);
  }

  /** Removes expired losses. */
  sweep(): void {
    const oldest = this.#clock.monotonic() - WINDOW_MS;
    for (const [key, losses] of this.#losses) {
      if (losses.at(-1)! > oldest) return;
      this.#losses.delete(key);
    }
  }
}
