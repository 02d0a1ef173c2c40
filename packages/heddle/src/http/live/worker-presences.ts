import { Coalescer } from '@heddle/base/coalescer';
import type { Clock } from '@heddle/base/clock';
import type { Engine, WorkerPresence } from '@heddle/core/engine/port';
import type { ClaimWorkDto } from '../wire/work.ts';

/** Interval at which a worker is recorded, ms. */
const INTERVAL_MS = 10_000;
/** Workers remembered; a forgotten one is simply recorded again. */
const REMEMBERED_MAX = 10_000;

/** Records the workers that describe themselves in their claims. */
export class WorkerPresences {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly #notedAt = new Map<string, { at: number; started_at: number }>();
  readonly #presences: Coalescer<WorkerPresence, null>;

  constructor(engine: Pick<Engine, 'present'>, clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock;
    this.#presences = new Coalescer({
      flush: async (workers) => {
        await engine.present(workers);
        return workers.map(() => null);
      },
      maxItems: 1_000,
      maxWaiting: 10_000,
    });
  }

  async note(holder: string, kinds: readonly string[], worker: NonNullable<ClaimWorkDto['worker']>): Promise<void> {
    const now = this.#clock.monotonic();
    const noted = this.#notedAt.get(holder);
    if (noted !== undefined && now - noted.at < INTERVAL_MS) return;
    if (this.#notedAt.size >= REMEMBERED_MAX) this.#notedAt.clear();
    const { version = null, host = null, concurrency = null, started_at } = worker;
    const given = Date.parse(started_at ?? '');
    const started = Number.isFinite(given) ? given : (noted?.started_at ?? this.#clock.now());
    this.#notedAt.set(holder, { at: now, started_at: started });
    await this.#presences.add({
      holder,
      type: 'worker',
      version,
      host,
      kinds,
      concurrency,
      running: null,
      started_at: started,
    });
  }
}
