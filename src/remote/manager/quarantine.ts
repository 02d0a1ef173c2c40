import type { Clock } from '../../runtime/clock.ts';

const LOSSES_MAX = 3;
const WINDOW_MS = 60 * 60_000;
const KEYS_MAX = 10_000;

/** Tasks, by what they run with which arguments, that lost their process too often to be given another one. */
export class Quarantine {
  readonly #clock: Clock;
  /** When the last losses were, oldest first, monotonic; keys in the order of their last loss. */
  readonly #losses = new Map<string, number[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether anything could be in it: it nearly never is, and the key costs a hash. */
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

  /** Seconds until the task may be tried again; null where it may be now. */
  remainingSecs(key: string): number | null {
    const losses = this.#losses.get(key);
    if (losses === undefined || losses.length < LOSSES_MAX) return null;
    const [first, last] = [losses[0]!, losses.at(-1)!];
    const leftMs = last + WINDOW_MS - this.#clock.monotonic();
    if (leftMs <= 0 || last - first > WINDOW_MS) return null;
    return Math.ceil(leftMs / 1000);
  }

  /** Forgets what is too long ago. */
  sweep(): void {
    const oldest = this.#clock.monotonic() - WINDOW_MS;
    for (const [key, losses] of this.#losses) {
      if (losses.at(-1)! > oldest) return;
      this.#losses.delete(key);
    }
  }
}
