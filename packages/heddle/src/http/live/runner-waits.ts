import type { PoolOperations } from '@heddle/core/pool/pool-port';
import type { RequestWithRunners } from '@heddle/core/pool/port/store';
import type { Clock } from '@heddle/base/clock';
import { WaitLimiter } from './waiting-room.ts';

/** Maximum number of waiting requests: as many as one poll can read. */
const WAITING_MAX = 1_000;
/** Bounds the delay after a lost notification. */
const POLL_INTERVAL_MS = 5_000;

interface Waiter {
  latest: RequestWithRunners;
  /** The wait has timed out: the next poll is its response. */
  over: boolean;
  answer: (request: RequestWithRunners) => void;
}

/**
 * Lets callers wait for the runners that they requested. They share one poll at a time, which runs when the pool
 * reports settled requests, when a caller arrives, and when a wait times out.
 */
export class RunnerWaits {
  readonly #pool: Pick<PoolOperations, 'requests' | 'onSettled'>;
  readonly #clock: Clock;
  readonly #room = new WaitLimiter({ max: WAITING_MAX, full: 'Too many requests are already waiting for runners' });
  readonly #waiters = new Set<Waiter>();
  #rung = false;
  #looking = false;
  #cancelLook: (() => void) | null = null;
  #unsubscribe: (() => void) | null = null;

  constructor(pool: Pick<PoolOperations, 'requests' | 'onSettled'>, clock: Clock) {
    this.#pool = pool;
    this.#clock = clock;
  }

  get closing(): boolean {
    return this.#room.closing;
  }

  /**
   * Resolves with the request as soon as it no longer waits, or as it is after `waitMs` or when the caller disconnects.
   * @throws HeddleError TOO_MANY_REQUESTS if too many are waiting
   */
  async wait(request: RequestWithRunners, waitMs: number, gone: AbortSignal): Promise<RequestWithRunners> {
    if (request.state !== 'waiting' || waitMs <= 0 || this.closing || gone.aborted) return request;
    return this.#room.wait(gone, (stop) => this.#wait(request, waitMs, stop));
  }

  /** Ends every wait with the request as it is. */
  close(): void {
    this.#room.close();
  }

  async #wait(request: RequestWithRunners, waitMs: number, stop: AbortSignal): Promise<RequestWithRunners> {
    const answered = Promise.withResolvers<RequestWithRunners>();
    const waiter: Waiter = { latest: request, over: false, answer: answered.resolve };
    const leave = (): void => answered.resolve(waiter.latest);
    const cancel = this.#clock.after(waitMs, () => {
      waiter.over = true;
      this.#ring();
    });
    stop.addEventListener('abort', leave, { once: true });
    this.#enter(waiter);
    try {
      return await answered.promise;
    } finally {
      cancel();
      stop.removeEventListener('abort', leave);
      this.#leave(waiter);
    }
  }

  #enter(waiter: Waiter): void {
    this.#waiters.add(waiter);
    this.#unsubscribe ??= this.#pool.onSettled(() => this.#ring());
    // The request may have been settled before the listener was added.
    this.#ring();
  }

  #leave(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    if (this.#waiters.size > 0) return;
    this.#unsubscribe?.();
    this.#unsubscribe = null;
    this.#cancelLook?.();
    this.#cancelLook = null;
  }

  #ring(): void {
    this.#rung = true;
    if (!this.#looking) void this.#lookWhileRung();
  }

  /** A notification during a poll triggers another one after it. */
  async #lookWhileRung(): Promise<void> {
    this.#looking = true;
    this.#cancelLook?.();
    this.#cancelLook = null;
    while (this.#rung && this.#waiters.size > 0) {
      this.#rung = false;
      await this.#look([...this.#waiters]);
    }
    this.#looking = false;
    if (this.#waiters.size > 0) this.#cancelLook = this.#clock.after(POLL_INTERVAL_MS, () => this.#ring());
  }

  async #look(waiters: readonly Waiter[]): Promise<void> {
    const ids = [...new Set(waiters.map(({ latest }) => latest.id))];
    // A failed poll is retried; waits that time out get the last known state.
    const found = await this.#pool.requests(ids).catch(() => []);
    const known = new Map(found.map((request) => [request.id, request]));
    for (const waiter of waiters) {
      waiter.latest = known.get(waiter.latest.id) ?? waiter.latest;
      if (waiter.over || waiter.latest.state !== 'waiting') waiter.answer(waiter.latest);
    }
  }
}
