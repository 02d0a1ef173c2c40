import type { Clock } from '@heddle/base/clock';
import type { SqsMessage } from './sqs-envelope.ts';

interface Entry {
  message: SqsMessage;
  /** By the monotonic clock: after this, another receiver may have it. */
  until: number;
}

/** Number of new messages between two cleanups of expired ones. */
const SWEEP_EVERY = 1_000;

/** Messages that this process holds, by receipt: SQS cannot move one to the dead letters, so it is sent there again. */
export class SqsHeld {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  #sinceSweep = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(receipt: string, message: SqsMessage, visibilityMs: number): void {
    this.#sinceSweep += 1;
    if (this.#sinceSweep >= SWEEP_EVERY) this.#sweep();
    this.#entries.set(receipt, { message, until: this.#clock.monotonic() + visibilityMs });
  }

  extend(receipts: readonly string[], visibilityMs: number): void {
    const until = this.#clock.monotonic() + visibilityMs;
    for (const receipt of receipts) {
      const entry = this.#entries.get(receipt);
      if (entry !== undefined) entry.until = until;
    }
  }

  /** Returns the message if it is still held. */
  get(receipt: string): SqsMessage | undefined {
    const entry = this.#entries.get(receipt);
    return entry !== undefined && entry.until > this.#clock.monotonic() ? entry.message : undefined;
  }

  drop(receipts: readonly string[]): void {
    for (const receipt of receipts) this.#entries.delete(receipt);
  }

  #sweep(): void {
    this.#sinceSweep = 0;
    const now = this.#clock.monotonic();
    for (const [receipt, { until }] of this.#entries) if (until <= now) this.#entries.delete(receipt);
  }
}
