import { shapeKeyOf, type Requirements } from '@heddle/base/vocabulary/requirements';
import { backoffMs } from '@heddle/base/backoff';
import type { Clock } from '@heddle/base/clock';
import type { Random } from '@heddle/base/random';

/** Capacity may become available soon. */
const CAPACITY_BACKOFF = { base_ms: 5_000, factor: 2, max_ms: 300_000, jitter: 0.2 };
/** The operator must change something first. */
const REFUSED_BACKOFF = { base_ms: 30_000, factor: 2, max_ms: 900_000, jitter: 0.2 };
const SHAPES_MAX = 1_000;
/** A failure whose backoff ended longer ago than this does not predict the next launch. */
const STALE_MS = 900_000;

export interface FailingLaunch {
  readonly requirements: Requirements;
  readonly reason: string;
  /** Consecutive failed launches. */
  readonly failures: number;
  /** Milliseconds since the epoch; nothing is planned before this time. */
  readonly retry_at: number;
}

/** Tracks recent launch failures by shape. Kept in memory: a new process starts with none. */
export class LaunchHealth {
  readonly #clock: Clock;
  readonly #random: Random;
  /** Ordered by the time of the last failure. */
  readonly #failing = new Map<string, FailingLaunch>();

  constructor({ clock, random }: { clock: Clock; random: Random }) {
    this.#clock = clock;
    this.#random = random;
  }

  failed(requirements: Requirements, reason: string, fault: 'capacity' | 'refused'): void {
    const key = shapeKeyOf(requirements);
    const failures = (this.of(requirements)?.failures ?? 0) + 1;
    const policy = fault === 'capacity' ? CAPACITY_BACKOFF : REFUSED_BACKOFF;
    const retry_at = this.#clock.now() + backoffMs(policy, failures, () => this.#random.next());
    this.#failing.delete(key);
    this.#failing.set(key, { requirements, reason, failures, retry_at });
    if (this.#failing.size > SHAPES_MAX) this.#failing.delete(this.#failing.keys().next().value!);
  }

  succeeded(requirements: Requirements): void {
    this.#failing.delete(shapeKeyOf(requirements));
  }

  /** Ends all backoffs, since the operator may have fixed the cause. */
  clear(): void {
    const retry_at = this.#clock.now();
    // The entries stay, so that a failure reported by another process is not counted as new.
    for (const [key, failing] of this.#failing) this.#failing.set(key, { ...failing, failures: 0, retry_at });
  }

  /** Returns null if the last launch for these requirements succeeded, or if there was no recent one. */
  of(requirements: Requirements): FailingLaunch | null {
    const failing = this.#failing.get(shapeKeyOf(requirements));
    return failing === undefined || failing.retry_at + STALE_MS < this.#clock.now() ? null : failing;
  }

  /** Whether the backoff for these requirements has not ended yet. */
  holdsBack(requirements: Requirements): boolean {
    const failing = this.of(requirements);
    return failing !== null && failing.retry_at > this.#clock.now();
  }

  /** Shapes whose launches are held back, the latest failure last. */
  get heldBack(): readonly FailingLaunch[] {
    return [...this.#failing.values()].filter(({ retry_at }) => retry_at > this.#clock.now());
  }
}
