import { finishesWithin } from '@heddle/base/finishes-within';
import { retrying } from '@heddle/base/retry';
import { Coalescer } from '@heddle/base/coalescer';
import { Loop } from '@heddle/base/loop';
import type { Delivery, DeliveryResult, Engine } from '@heddle/core/engine/port';
import { deliverOnce } from './deliver.ts';
import type { DeliverDependencies } from './deliver.ts';
import { OriginBudget } from './origin-budget.ts';

export interface DeliveryLoopOptions extends DeliverDependencies {
  engine: Pick<Engine, 'claimDeliveries' | 'renewDeliveries' | 'settleDeliveries' | 'onDeliveryDue'>;
  holder: string;
  /** Maximum concurrent tries, 64 by default. */
  permits?: number;
  /** Maximum concurrent tries of one origin, 16 by default. */
  permitsPerOrigin?: number;
  /** Maximum concurrent tries of slow origins, in addition to the others, 256 by default. */
  slowPermits?: number;
  /** Duration after which an origin counts as slow, 1,000 ms by default. */
  slowAfterMs?: number;
  /** Poll interval without notifications. */
  intervalMs: number;
}

/** Lease of a try without renewal: how long its deliveries wait if this process is killed. */
const LEASE_MS = 10_000;
/** How long a result is retried beyond one try, to bridge a short outage of the database. */
const SETTLE_MARGIN_MS = 30_000;
const SETTLE_SET_MAX = 500;
/** Unsettled results for each permit beyond which nothing new is tried: the database cannot keep up. */
const UNSETTLED_PER_PERMIT = 4;
const SETTLE_BACKOFF = { base_ms: 100, factor: 2, max_ms: 2000, jitter: 0.5 };
/** Delay before the next try of a delivery on which Heddle itself failed. */
const DEFECT_DELAY_MS = 30_000;

/**
 * Claims due deliveries from the outbox, tries each once, and settles the results in sets. Holds no database connection
 * meanwhile; when a process dies, others take over its tries after the lease expires.
 */
export class DeliveryLoop {
  readonly #options: DeliveryLoopOptions;
  readonly #budget: OriginBudget;
  readonly #loop: Loop;
  readonly #settling: Coalescer<DeliveryResult, undefined>;
  readonly #underWay = new Map<Promise<void>, Delivery>();
  readonly #renewal: Loop;
  readonly #giveUp = new AbortController();
  readonly #abandonSettling = new AbortController();
  #unsubscribe: (() => void) | undefined;
  #onStartRoom: (() => void) | undefined;
  /** Whether more may be due than the last claim could take. */
  #more = true;
  /** Start deliveries that were written here and are not claimed yet, as far as this process knows. */
  #startBacklog = 0;

  constructor(options: DeliveryLoopOptions) {
    this.#options = options;
    const { engine, clock, log } = options;
    this.#budget = new OriginBudget({
      total: options.permits ?? 64,
      perOrigin: options.permitsPerOrigin ?? 16,
      slowTotal: options.slowPermits ?? 256,
      slowAfterMs: options.slowAfterMs ?? 1000,
      clock,
      onRoom: () => this.#roomAppeared(),
    });
    this.#loop = new Loop({
      name: 'delivery',
      intervalMs: options.intervalMs,
      clock,
      log,
      runOnce: () => this.runOnce(),
    });
    this.#renewal = new Loop({
      name: 'delivery leases',
      intervalMs: LEASE_MS / 3,
      clock,
      log,
      runOnce: async () => {
        const tries = [...this.#underWay.values()].map(({ id, tries: n }) => ({ id, tries: n }));
        if (tries.length > 0) await engine.renewDeliveries(tries, LEASE_MS);
        return 'idle';
      },
    });
    this.#settling = new Coalescer({
      flush: async (results: DeliveryResult[]) => {
        await engine.settleDeliveries(results);
        return results.map(() => undefined);
      },
      maxItems: SETTLE_SET_MAX,
      maxWaiting: Number.POSITIVE_INFINITY,
    });
  }

  /** Tries that are running or not settled yet. */
  get underWay(): number {
    return this.#underWay.size;
  }

  start(): void {
    this.#unsubscribe ??= this.#options.engine.onDeliveryDue(() => this.wake());
    this.#loop.start();
    this.#renewal.start();
  }

  wake(): void {
    this.#loop.wake();
  }

  /**
   * Stops claiming, lets running tries finish within the grace period, aborts those that do not (they are due again at
   * once) and settles the results.
   */
  async stop(graceMs: number): Promise<void> {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    await this.#loop.stop();
    await this.#endWithin(graceMs, () => this.#giveUp.abort());
    await this.#endWithin(Math.max(graceMs, SETTLE_BACKOFF.max_ms), () => this.#abandonSettling.abort());
    await Promise.allSettled(this.#underWay.keys());
    await this.#renewal.stop();
  }

  /** Runs one pass: claims and starts as many deliveries as the budget allows. */
  async runOnce(): Promise<'again' | 'idle'> {
    const room = this.#budget.room();
    const unsettledMax = this.#budget.total * UNSETTLED_PER_PERMIT + (this.#options.slowPermits ?? 256);
    const limit = Math.min(room.limit, unsettledMax - this.#underWay.size);
    this.#more = true;
    // Claims in sets: a few free permits are not worth a round trip, and each finished try polls again.
    if (limit < Math.max(1, this.#budget.total >> 3)) return 'idle';
    const { engine, holder } = this.#options;
    const deliveries = await engine.claimDeliveries({ holder, ...room, limit, lease_ms: LEASE_MS });
    for (const delivery of deliveries) this.#begin(delivery);
    const drained = deliveries.length < limit;
    this.#more = !drained || room.saturated_origins.length > 0 || busiest(deliveries) >= room.limit_per_origin;
    this.#startsTaken(deliveries, drained);
    return deliveries.length > 0 && this.#more ? 'again' : 'idle';
  }

  /**
   * Number of tasks that may be claimed for starting now: enough start deliveries to keep the permits busy twice over.
   * Zero if it is only a few, so that claims are made in sets.
   */
  startRoom(): number {
    const { total, free } = this.#budget;
    const room = total + free - this.#startBacklog;
    return room * 4 >= total ? room : 0;
  }

  /** Notifies the loop that start deliveries were written, which makes them due here. */
  startsWritten(count: number): void {
    this.#startBacklog += count;
    this.wake();
  }

  /** Calls back when the budget allows starts again. */
  onStartRoom(wake: () => void): void {
    this.#onStartRoom = wake;
  }

  #startsTaken(deliveries: readonly Delivery[], drained: boolean): void {
    const starts = deliveries.filter(({ trigger }) => trigger === 'start').length;
    // A claim that returns fewer has taken everything not held back by its own origin; another process may have claimed
    // the rest.
    this.#startBacklog = drained ? 0 : Math.max(0, this.#startBacklog - starts);
    this.#onStartRoom?.();
  }

  #roomAppeared(): void {
    if (this.#more) this.#loop.wake();
    this.#onStartRoom?.();
  }

  #begin(delivery: Delivery): void {
    const offeredUntil = this.#options.clock.monotonic() + this.#options.tryLimitMs + SETTLE_MARGIN_MS;
    const work = this.#tryAndSettle(delivery, offeredUntil).finally(() => {
      this.#underWay.delete(work);
      if (this.#more) this.#loop.wake();
    });
    this.#underWay.set(work, delivery);
  }

  async #tryAndSettle(delivery: Delivery, offeredUntil: number): Promise<void> {
    const slot = this.#budget.start(delivery.origin);
    let result: DeliveryResult;
    try {
      result = await deliverOnce(delivery, this.#options, this.#giveUp.signal);
    } catch (error) {
      this.#options.log.error({ delivery_id: delivery.id, err: error }, 'delivery failed because of a defect');
      const { id, tries } = delivery;
      result = { id, tries, outcome: 'retry', status: null, error: 'internal error', delay_ms: DEFECT_DELAY_MS };
    } finally {
      slot.end();
    }
    await this.#settle(result, offeredUntil);
  }

  /** A result that cannot be stored is retried for a while; then the delivery is tried again. */
  async #settle(result: DeliveryResult, offeredUntil: number): Promise<void> {
    const { clock, log, random } = this.#options;
    const abandoned = this.#abandonSettling.signal;
    const mayRetry = (): boolean => clock.monotonic() < offeredUntil;
    try {
      const settle = () => this.#settling.add(result);
      await retrying(settle, { policy: SETTLE_BACKOFF, clock, random, signal: abandoned, mayRetry });
    } catch (error) {
      log.error({ delivery_id: result.id, err: error }, 'lost the result of a delivery; it will be tried again');
    }
  }

  async #endWithin(ms: number, abort: () => void): Promise<void> {
    await finishesWithin(this.#options.clock, ms, Promise.allSettled(this.#underWay.keys()));
    abort();
  }
}

/** The most deliveries of a single origin among these. */
function busiest(deliveries: readonly Delivery[]): number {
  const counts = new Map<string, number>();
  let most = 0;
  for (const { origin } of deliveries) {
    const count = (counts.get(origin) ?? 0) + 1;
    counts.set(origin, count);
    most = Math.max(most, count);
  }
  return most;
}
