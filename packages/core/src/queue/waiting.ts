import type { Clock } from '@heddle/base/clock';

/**
 * Receivers that wait for messages, by queue. One arrival wakes the longest-waiting receiver; if it finds messages it
 * wakes the next, which avoids a thundering herd.
 */
export class Waiting {
  readonly #clock: Clock;
  readonly #lines = new Map<string, Set<() => void>>();
  /** Number of arrivals, for queues that this process has polled. */
  readonly #arrivals = new Map<string, number>();
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Returns the arrival count, to be read before a poll: an arrival after the poll then ends the wait at once. */
  arrivals(queue: string): number {
    const arrivals = this.#arrivals.get(queue) ?? 0;
    this.#arrivals.set(queue, arrivals);
    return arrivals;
  }

  /** Signals an arrival. */
  arrived(queue: string): void {
    const arrivals = this.#arrivals.get(queue);
    if (arrivals !== undefined) this.#arrivals.set(queue, arrivals + 1);
    this.wakeNext(queue);
  }

  /** Signals possible arrivals on all queues. */
  arrivedAnywhere(): void {
    for (const queue of this.#arrivals.keys()) this.arrived(queue);
  }

  wakeNext(queue: string): void {
    const line = this.#lines.get(queue);
    const [next] = line ?? [];
    next?.();
  }

  /** Resolves when woken, after `ms`, on abort or on close; at once if something arrived since `seen`. */
  async wait(queue: string, seen: number, ms: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#closed || signal?.aborted === true || this.arrivals(queue) !== seen) return;
    const line = this.#lines.get(queue) ?? new Set();
    this.#lines.set(queue, line);
    await new Promise<void>((resolve) => {
      const end = (): void => {
        line.delete(end);
        if (line.size === 0 && this.#lines.get(queue) === line) this.#lines.delete(queue);
        signal?.removeEventListener('abort', onAbort);
        cancelTimer();
        resolve();
      };
      const onAbort = (): void => end();
      const cancelTimer = this.#clock.after(ms, end);
      signal?.addEventListener('abort', onAbort, { once: true });
      line.add(end);
    });
  }

  close(): void {
    this.#closed = true;
    for (const line of [...this.#lines.values()]) for (const end of [...line]) end();
  }
}
