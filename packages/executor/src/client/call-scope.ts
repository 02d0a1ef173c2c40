import type { Clock } from '@heddle/base/clock';
import { RemoteCallFailure } from './failures.ts';
import type { CallLimits } from './options.ts';

/** Lifetime of a call: ends with the caller's signal, the deadline, or the client closing. */
export class CallScope implements Disposable {
  readonly #controller = new AbortController();
  readonly #undo: (() => void)[] = [];
  /** Milliseconds since the epoch; null without a deadline. */
  readonly deadlineMs: number | null;

  constructor({ signal, deadlineSecs }: CallLimits, closing: AbortSignal, clock: Clock) {
    if (deadlineSecs !== undefined && !(deadlineSecs > 0)) {
      throw new TypeError(`deadlineSecs must be greater than 0 (got ${deadlineSecs})`);
    }
    for (const each of [signal, closing]) if (each !== undefined) this.#follow(each);
    this.deadlineMs = deadlineSecs === undefined ? null : clock.now() + deadlineSecs * 1000;
    if (deadlineSecs === undefined) return;
    const late = (): void =>
      this.#controller.abort(new RemoteCallFailure('TASK_TIMEOUT', `No outcome within ${deadlineSecs} s`));
    this.#undo.push(clock.after(deadlineSecs * 1000, late));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  #follow(signal: AbortSignal): void {
    const onAbort = (): void => this.#controller.abort(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    this.#undo.push(() => signal.removeEventListener('abort', onAbort));
  }

  [Symbol.dispose](): void {
    for (const undo of this.#undo) undo();
  }
}
