import type { ClaimedTask, ClaimRequest, Engine } from '@heddle/core/engine/port';
import type { Clock } from '@heddle/base/clock';
import { Permits } from '@heddle/base/permits';
import { WaitLimiter } from './waiting-room.ts';

/** Maximum number of waiting requests. */
const WAITING_MAX = 5_000;
/** One commit may wake all waiting requests: at most this many query the database at a time. */
const CLAIMS_AT_ONCE = 4;
/** Bounds the delay after a lost notification. */
const POLL_INTERVAL_MS = 5_000;

/** Claims tasks for workers over HTTP, and lets them wait if nothing is ready. */
export class WorkClaims {
  readonly #engine: Pick<Engine, 'claim' | 'release' | 'onReady'>;
  readonly #clock: Clock;
  readonly #permits = new Permits(CLAIMS_AT_ONCE);
  readonly #room = new WaitLimiter({ max: WAITING_MAX, full: 'Too many workers are already waiting' });

  constructor(engine: Pick<Engine, 'claim' | 'release' | 'onReady'>, clock: Clock) {
    this.#engine = engine;
    this.#clock = clock;
  }

  get closing(): boolean {
    return this.#room.closing;
  }

  /**
   * Claims tasks now, or as soon as something is ready within `waitMs`; returns none after that, and none if the caller
   * has disconnected.
   * @throws HeddleError TOO_MANY_REQUESTS if too many are waiting
   */
  async claim(request: ClaimRequest, waitMs: number, gone: AbortSignal): Promise<ClaimedTask[]> {
    const claimed = await this.#engine.claim(request);
    if (claimed.length > 0) return this.#keep(claimed, gone);
    if (waitMs <= 0 || this.closing || gone.aborted) return [];
    const untilMs = this.#clock.monotonic() + waitMs;
    return this.#room.wait(gone, (stop) => this.#wait(request, untilMs, stop));
  }

  /** Ends every wait with an empty response. */
  close(): void {
    this.#room.close();
  }

  async #wait(request: ClaimRequest, untilMs: number, stop: AbortSignal): Promise<ClaimedTask[]> {
    let rung = new AbortController();
    const ring = (): void => rung.abort();
    stop.addEventListener('abort', ring);
    const unsubscribe = this.#engine.onReady(request.lanes, ring);
    try {
      while (!stop.aborted) {
        const leftMs = untilMs - this.#clock.monotonic();
        if (leftMs <= 0) return [];
        await this.#clock.sleep(Math.min(leftMs, POLL_INTERVAL_MS), rung.signal);
        // Renewed before the claim, so that tasks that become ready during it trigger another.
        rung = new AbortController();
        const claimed = await this.#look(request, stop);
        if (claimed.length > 0) return await this.#keep(claimed, stop);
      }
      return [];
    } finally {
      unsubscribe();
      stop.removeEventListener('abort', ring);
    }
  }

  async #look(request: ClaimRequest, stop: AbortSignal): Promise<ClaimedTask[]> {
    using _permit = await this.#permits.acquire();
    return stop.aborted ? [] : await this.#engine.claim(request);
  }

  /** Releases at once what was claimed for a caller that disconnected, instead of waiting for the lease to expire. */
  async #keep(claimed: ClaimedTask[], gone: AbortSignal): Promise<ClaimedTask[]> {
    if (!gone.aborted) return claimed;
    await this.#engine.release(claimed.map(({ id, attempt }) => ({ task_id: id, attempt })));
    return [];
  }
}
