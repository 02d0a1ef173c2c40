import type { Clock } from '@heddle/base/clock';
import type { Queryable } from '@heddle/core/store/database';
import {
  checkMessages,
  checkQueueName,
  checkReceive,
  closedError,
  cutReason,
  DEFAULT_MAX_RECEIVES,
} from '@heddle/core/queue/limits';
import { MemoryBox } from './memory-box.ts';
import { writeOutgoing } from '@heddle/core/internal/queue/outgoing';
import type {
  DeadLetter,
  MessageQueue,
  OutgoingMessage,
  QueueDepth,
  ReceivedMessage,
  ReceiveOptions,
} from '@heddle/core/queue/port';
import { Waiting } from '@heddle/core/internal/queue/waiting';

export interface MemoryQueueOptions {
  clock: Clock;
  maxReceives?: number;
}

/**
 * Queues in this process, for tests; they follow a virtual clock. Messages sent within a transaction go through the
 * database's outbox and need an OutgoingRelay to arrive.
 */
export class MemoryQueue implements MessageQueue {
  readonly driver = 'memory';
  readonly #clock: Clock;
  readonly #maxReceives: number;
  readonly #waiting: Waiting;
  readonly #boxes = new Map<string, MemoryBox>();

  constructor({ clock, maxReceives = DEFAULT_MAX_RECEIVES }: MemoryQueueOptions) {
    this.#clock = clock;
    this.#maxReceives = maxReceives;
    this.#waiting = new Waiting(clock);
  }

  send(queue: string, messages: readonly OutgoingMessage[]): Promise<void> {
    return promised(() => {
      this.#refuseClosed();
      const checked = checkMessages(queue, messages);
      const now = this.#clock.now();
      for (const message of checked) this.#box(queue).put(message, now);
      if (messages.length > 0) this.#waiting.arrived(queue);
    });
  }

  async sendIn(tx: Queryable, queue: string, messages: readonly OutgoingMessage[]): Promise<void> {
    this.#refuseClosed();
    await writeOutgoing(tx, queue, checkMessages(queue, messages), null);
  }

  async receive(queue: string, options: ReceiveOptions): Promise<ReceivedMessage[]> {
    checkQueueName(queue);
    checkReceive(options);
    const deadline = this.#clock.monotonic() + options.wait_ms;
    while (!this.#waiting.closed && options.signal?.aborted !== true) {
      const arrivals = this.#waiting.arrivals(queue);
      const now = this.#clock.now();
      const messages = this.#box(queue).take(options.max, options.visibility_ms, now);
      if (messages.length > 0) {
        this.#waiting.wakeNext(queue);
        return messages;
      }
      const leftMs = deadline - this.#clock.monotonic();
      if (leftMs <= 0) return [];
      const dueInMs = this.#box(queue).nextDueInMs(now) ?? leftMs;
      await this.#waiting.wait(queue, arrivals, Math.min(leftMs, dueInMs), options.signal);
    }
    return [];
  }

  extend(queue: string, receipts: readonly string[], visibilityMs: number): Promise<void> {
    return promised(() => this.#hide(queue, receipts, visibilityMs, false));
  }

  delete(queue: string, receipts: readonly string[]): Promise<void> {
    return promised(() => receipts.forEach((receipt) => this.#box(queue).delete(receipt)));
  }

  release(queue: string, receipts: readonly string[], delayMs = 0): Promise<void> {
    return promised(() => {
      this.#hide(queue, receipts, delayMs, true);
      this.#waiting.arrived(queue);
    });
  }

  deadLetter(queue: string, letters: readonly { receipt: string; reason: string }[]): Promise<void> {
    return promised(() => {
      const now = this.#clock.now();
      for (const { receipt, reason } of letters) this.#box(queue).deadLetter(receipt, cutReason(reason), now);
    });
  }

  listDead(queue: string | null, { offset, limit }: { offset: number; limit: number }): Promise<DeadLetter[]> {
    return promised(() => {
      const boxes = queue === null ? [...this.#boxes.values()] : [this.#box(queue)];
      const letters = boxes.flatMap((box) => box.dead);
      letters.sort((one, other) => one.dead_lettered_at - other.dead_lettered_at);
      return letters.slice(offset, offset + limit);
    });
  }

  redrive(queue: string, ids: readonly string[] | null): Promise<number> {
    return promised(() => {
      this.#refuseClosed();
      const moved = this.#box(queue).redrive(ids, this.#clock.now());
      if (moved > 0) this.#waiting.arrived(queue);
      return moved;
    });
  }

  depth(queue: string): Promise<QueueDepth> {
    return promised(() => this.#box(queue).depth(this.#clock.now()));
  }

  close(): Promise<void> {
    return promised(() => this.#waiting.close());
  }

  #hide(queue: string, receipts: readonly string[], ms: number, release: boolean): void {
    const now = this.#clock.now();
    for (const receipt of receipts) this.#box(queue).hide(receipt, ms, release, now);
  }

  #box(queue: string): MemoryBox {
    const box = this.#boxes.get(queue) ?? new MemoryBox(queue, this.#maxReceives);
    this.#boxes.set(queue, box);
    return box;
  }

  #refuseClosed(): void {
    if (this.#waiting.closed) throw closedError();
  }
}

/** Turns an exception into a rejection, as with a remote queue. */
function promised<T>(run: () => T): Promise<T> {
  return new Promise((resolve) => resolve(run()));
}
