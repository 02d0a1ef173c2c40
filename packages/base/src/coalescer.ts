import { HeddleError } from './errors.ts';

export interface CoalescerOptions<I, O> {
  /** Handles a set at once; one result per item, in order. A rejected entry rejects that item's `add` alone. */
  flush(items: I[]): Promise<PromiseSettledResult<O>[] | O[]>;
  /** Largest set of one flush. */
  maxItems: number;
  /** Concurrent flushes, 1 by default; more if sets do not touch the same rows. */
  maxUnderWay?: number;
  /**
   * What must wait for a flush to start beside another one, in sizes: two small sets cost more than one. Anything by default.
   */
  besideMin?: number;
  /** Size of an item; 1 by default. */
  sizeOf?: (item: I) => number;
  /** Items that may wait during a flush; more are rejected. */
  maxWaiting: number;
  /**
   * Whether a flush that rejected as a whole is repeated in parts, so that one bad item does not fail the others
   * (`flush` must then have had no effect). Default: yes, unless the error is retryable, such as an unavailable
   * database.
   */
  isolate?: boolean | ((error: unknown) => boolean);
}

interface Entry<I, O> {
  readonly item: I;
  readonly resolve: (result: O) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Batches single-item calls: items that arrive during a flush form the next one, which starts when that ends. Uses no
 * timer: an idle coalescer flushes at once, a busy one in ever larger sets.
 */
export class Coalescer<I, O> {
  readonly #options: CoalescerOptions<I, O>;
  #queue: Entry<I, O>[] = [];
  #waitingSize = 0;
  #underWay = 0;
  readonly #flushing = new Set<Promise<void>>();

  constructor(options: CoalescerOptions<I, O>) {
    this.#options = options;
  }

  /** Items that no flush has taken yet. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Resolves with the item's result. Rejects with TOO_MANY_REQUESTS if too many items wait. */
  add(item: I): Promise<O> {
    if (this.#queue.length >= this.#options.maxWaiting) {
      return Promise.reject(new HeddleError('TOO_MANY_REQUESTS', undefined, { retryAfterSecs: 1 }));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, resolve, reject });
      this.#waitingSize += this.#sizeOf(item);
      if (this.#underWay < (this.#options.maxUnderWay ?? 1) && this.#mayFlushBeside(this.#underWay)) this.#begin();
    });
  }

  /** Resolves when everything added so far, and everything that arrives meanwhile, has its result. */
  async drain(): Promise<void> {
    while (this.#flushing.size > 0) await Promise.all(this.#flushing);
  }

  #begin(): void {
    this.#underWay += 1;
    const flushing = this.#flushAll().finally(() => this.#flushing.delete(flushing));
    this.#flushing.add(flushing);
  }

  async #flushAll(): Promise<void> {
    // Items added in the same turn of the event loop belong to the first set.
    await Promise.resolve();
    while (this.#queue.length > 0 && this.#mayFlushBeside(this.#underWay - 1)) {
      const batch = this.#queue.splice(0, this.#options.maxItems);
      for (const { item } of batch) this.#waitingSize -= this.#sizeOf(item);
      await this.#flush(batch);
    }
    // In the same turn as the check of the queue, so that a later `add` starts a new flush.
    this.#underWay -= 1;
  }

  #sizeOf(item: I): number {
    return this.#options.sizeOf?.(item) ?? 1;
  }

  /** Returns whether enough items wait for a flush beside the others. What is too little is taken by one that ends. */
  #mayFlushBeside(others: number): boolean {
    return others === 0 || this.#waitingSize >= (this.#options.besideMin ?? 0);
  }

  async #flush(batch: Entry<I, O>[]): Promise<void> {
    let results: PromiseSettledResult<O>[] | O[];
    try {
      results = await this.#options.flush(batch.map((entry) => entry.item));
      if (results.length !== batch.length) {
        throw new ResultCountError(`flush answered ${results.length} results for ${batch.length} items`);
      }
    } catch (error) {
      if (batch.length > 1 && this.#isolates(error)) await this.#flushParts(batch);
      else for (const entry of batch) entry.reject(error);
      return;
    }
    results.forEach((result, index) => settle(batch[index]!, result));
  }

  /** Halves rather than single items: one bad item of a thousand costs twenty flushes, not a thousand. */
  async #flushParts(batch: Entry<I, O>[]): Promise<void> {
    const middle = batch.length >> 1;
    await this.#flush(batch.slice(0, middle));
    await this.#flush(batch.slice(middle));
  }

  #isolates(error: unknown): boolean {
    const { isolate } = this.#options;
    // The flush had its effect; repeating it would apply it twice.
    if (error instanceof ResultCountError) return false;
    if (typeof isolate === 'function') return isolate(error);
    return (isolate ?? true) && !(error instanceof HeddleError && error.retryable);
  }
}

class ResultCountError extends Error {}

function settle<I, O>(entry: Entry<I, O>, result: PromiseSettledResult<O> | O): void {
  if (!isSettledResult(result)) entry.resolve(result);
  else if (result.status === 'fulfilled') entry.resolve(result.value);
  else entry.reject(result.reason);
}

function isSettledResult<O>(result: PromiseSettledResult<O> | O): result is PromiseSettledResult<O> {
  if (typeof result !== 'object' || result === null) return false;
  const { status } = result as { status?: unknown };
  return (status === 'fulfilled' && 'value' in result) || (status === 'rejected' && 'reason' in result);
}
