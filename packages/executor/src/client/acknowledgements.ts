import type { Clock } from '@heddle/base/clock';
import { encodePayload } from './payload.ts';
import type { Link } from './link.ts';

/** Outcomes acknowledged per call; the protocol allows 1,000. */
const BATCH_MAX = 1_000;
const GATHER_MS = 50;
const ANSWER_WITHIN_MS = 10_000;
/** Acknowledgements queued per executor; beyond it the executor expires outcomes by itself. */
const WAITING_MAX = 100_000;

/** Batches acknowledgements of received outcomes. An outcome that is not acknowledged expires at the executor. */
export class Acknowledgements {
  readonly #clock: Clock;
  readonly #waiting = new Map<Link, Set<string>>();
  readonly #timers = new Set<() => void>();
  readonly #calls = new Map<Link, Promise<void>>();
  readonly #closing = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param delayMs minimum time for which the executor keeps the outcome */
  add(link: Link, correlationId: string, delayMs = 0): void {
    if (delayMs > 0) {
      this.#after(delayMs, () => this.add(link, correlationId));
      return;
    }
    let ids = this.#waiting.get(link);
    if (ids === undefined) this.#waiting.set(link, (ids = new Set()));
    if (ids.size >= WAITING_MAX) return;
    ids.add(correlationId);
    if (ids.size === 1) this.#after(GATHER_MS, () => void this.#send(link));
    else if (ids.size >= BATCH_MAX) void this.#send(link);
  }

  /** Sends queued acknowledgements and drops delayed ones, whose outcomes expire at the executor. */
  async close(withinMs: number): Promise<void> {
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    const cancel = this.#clock.after(withinMs, () => this.#closing.abort(new Error('the client is closed')));
    await Promise.all([...this.#waiting.keys()].map((link) => this.#send(link)));
    await Promise.all(this.#calls.values());
    cancel();
  }

  #after(ms: number, run: () => void): void {
    const cancel = this.#clock.after(ms, () => {
      this.#timers.delete(cancel);
      run();
    });
    this.#timers.add(cancel);
  }

  /** Runs one call at a time per endpoint; acknowledgements added meanwhile go into the next one. */
  #send(link: Link): Promise<void> {
    const calling = this.#calls.get(link) ?? this.#sendAll(link).finally(() => this.#calls.delete(link));
    this.#calls.set(link, calling);
    return calling;
  }

  async #sendAll(link: Link): Promise<void> {
    for (let ids = this.#waiting.get(link); ids !== undefined && ids.size > 0; ids = this.#waiting.get(link)) {
      const correlation_ids = [...ids].slice(0, BATCH_MAX);
      for (const id of correlation_ids) ids.delete(id);
      try {
        const payload = encodePayload({ correlation_ids });
        await link.call({ method: 'ack', payload, signal: this.#closing.signal, answerWithinMs: ANSWER_WITHIN_MS });
      } catch {
        // Not retried: the executor expires outcomes by itself.
        return;
      }
    }
  }
}
