import { shapeKeyOf, type Requirements } from '../domain/runner/requirements.ts';
import { backoffMs } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';

/** There may be more of them soon. */
const CAPACITY_BACKOFF = { base_ms: 5_000, factor: 2, max_ms: 300_000, jitter: 0.2 };
/** Somebody has to change something first. */
const REFUSED_BACKOFF = { base_ms: 30_000, factor: 2, max_ms: 900_000, jitter: 0.2 };
const SHAPES_MAX = 1_000;
/** A failure this much older than the wait after it says nothing of the next launch. */
const STALE_MS = 900_000;

export interface Ailing {
  readonly requirements: Requirements;
  readonly reason: string;
  /** Launches in a row that came to nothing. */
  readonly failures: number;
  /** Milliseconds since the epoch: nothing is planned before. */
  readonly retry_at: number;
}

/** What launches came to of late, by what they were for; of this process, so that a new one begins without it. */
export class LaunchHealth {
  readonly #clock: Clock;
  readonly #random: Random;
  /** In the order of their last failure. */
  readonly #ailing = new Map<string, Ailing>();

  constructor({ clock, random }: { clock: Clock; random: Random }) {
    this.#clock = clock;
    this.#random = random;
  }

  failed(requirements: Requirements, reason: string, fault: 'capacity' | 'refused'): void {
    const key = shapeKeyOf(requirements);
    const failures = (this.of(requirements)?.failures ?? 0) + 1;
    const policy = fault === 'capacity' ? CAPACITY_BACKOFF : REFUSED_BACKOFF;
    const retry_at = this.#clock.now() + backoffMs(policy, failures, () => this.#random.next());
    this.#ailing.delete(key);
    this.#ailing.set(key, { requirements, reason, failures, retry_at });
    if (this.#ailing.size > SHAPES_MAX) this.#ailing.delete(this.#ailing.keys().next().value!);
  }

  succeeded(requirements: Requirements): void {
    this.#ailing.delete(shapeKeyOf(requirements));
  }

  /** Lets everything be tried at once: somebody may have mended what it failed of. */
  clear(): void {
    const retry_at = this.#clock.now();
    // They stay, so that a failure which is told of from elsewhere counts as known.
    for (const [key, ailing] of this.#ailing) this.#ailing.set(key, { ...ailing, failures: 0, retry_at });
  }

  /** Null where the last launch for these succeeded, or where there was none of late. */
  of(requirements: Requirements): Ailing | null {
    const ailing = this.#ailing.get(shapeKeyOf(requirements));
    return ailing === undefined || ailing.retry_at + STALE_MS < this.#clock.now() ? null : ailing;
  }

  /** Whether nothing is to be planned for these now. */
  holdsBack(requirements: Requirements): boolean {
    const ailing = this.of(requirements);
    return ailing !== null && ailing.retry_at > this.#clock.now();
  }

  /** For which nothing is planned now, the latest failure last. */
  get heldBack(): readonly Ailing[] {
    return [...this.#ailing.values()].filter(({ retry_at }) => retry_at > this.#clock.now());
  }
}
