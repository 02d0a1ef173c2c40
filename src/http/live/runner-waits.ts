import type { PoolOperations, RequestWithRunners } from '../../pool/pool-port.ts';
import type { Clock } from '../../runtime/clock.ts';
import { Permits } from '../../runtime/permits.ts';
import { WaitingRoom } from './waiting-room.ts';

/** Requests that may wait at once. */
const WAITING_MAX = 1_000;
/** So many of them ask the database at a time, the others after them. */
const LOOKS_AT_ONCE = 4;
/** A look follows soon at first, for a runner that is just coming free, and then ever later. */
const LOOK_FIRST_MS = 50;
const LOOK_LAST_MS = 1_000;

/** Lets callers wait for the runners that they asked for. */
export class RunnerWaits {
  readonly #pool: Pick<PoolOperations, 'request'>;
  readonly #clock: Clock;
  readonly #permits = new Permits(LOOKS_AT_ONCE);
  readonly #room = new WaitingRoom({ max: WAITING_MAX, full: 'Too many wait for runners already' });

  constructor(pool: Pick<PoolOperations, 'request'>, clock: Clock) {
    this.#pool = pool;
    this.#clock = clock;
  }

  get closing(): boolean {
    return this.#room.closing;
  }

  /**
   * The request as soon as it does not wait any more, or as it is after `waitMs` or when the caller is gone.
   *
   * @throws HeddleError TOO_MANY_REQUESTS where too many wait already
   */
  async wait(request: RequestWithRunners, waitMs: number, gone: AbortSignal): Promise<RequestWithRunners> {
    if (request.state !== 'waiting' || waitMs <= 0 || this.closing || gone.aborted) return request;
    const untilMs = this.#clock.monotonic() + waitMs;
    return this.#room.wait(gone, (stop) => this.#look(request, untilMs, stop));
  }

  /** Ends every wait with the request as it is. */
  close(): void {
    this.#room.close();
  }

  async #look(request: RequestWithRunners, untilMs: number, stop: AbortSignal): Promise<RequestWithRunners> {
    let latest = request;
    let pauseMs = LOOK_FIRST_MS;
    while (latest.state === 'waiting' && !stop.aborted) {
      const leftMs = untilMs - this.#clock.monotonic();
      if (leftMs <= 0) break;
      await this.#clock.sleep(Math.min(leftMs, pauseMs), stop);
      pauseMs = Math.min(2 * pauseMs, LOOK_LAST_MS);
      using _permit = await this.#permits.acquire();
      latest = await this.#pool.request(request.id);
    }
    return latest;
  }
}
