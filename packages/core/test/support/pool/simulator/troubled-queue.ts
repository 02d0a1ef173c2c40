import { MemoryQueue } from '@heddle/test-support/queue/memory-queue';
import type {
  DeadLetter,
  MessageQueue,
  OutgoingMessage,
  QueueDepth,
  ReceivedMessage,
  ReceiveOptions,
} from '../../../../src/queue/port.ts';
import type { Clock } from '@heddle/base/clock';
import type { Dice } from './dice.ts';

/** Probabilities. */
export interface QueueTroubles {
  /** A short poll that finds nothing although messages exist. */
  readonly falseEmpty: number;
  /** A message that is delivered again later. */
  readonly duplicate: number;
  /** A message that is overtaken by others. */
  readonly late: number;
  /** A call that is refused. */
  readonly throttled: number;
  /** A lost message, which queues promise to avoid. */
  readonly lost: number;
}

export const NO_TROUBLE: QueueTroubles = { falseEmpty: 0, duplicate: 0, late: 0, throttled: 0, lost: 0 };

const LATE_MAX_MS = 3_000;

export interface TroubledQueueOptions {
  readonly clock: Clock;
  readonly dice: Dice;
  troubles(): QueueTroubles;
}

/** A queue with every behaviour that such a queue may show. */
export class TroubledQueue implements MessageQueue {
  readonly driver = 'memory';
  /** When a message of each runner was last sent, including lost ones. */
  readonly sentAt = new Map<string, number>();
  readonly #queue: MemoryQueue;
  readonly #options: TroubledQueueOptions;

  constructor(options: TroubledQueueOptions) {
    this.#options = options;
    this.#queue = new MemoryQueue({ clock: options.clock });
  }

  async send(queue: string, messages: readonly OutgoingMessage[]): Promise<void> {
    this.#throttle();
    const { dice } = this.#options;
    const { duplicate, late, lost } = this.#options.troubles();
    const later = (message: OutgoingMessage): OutgoingMessage => ({
      ...message,
      delay_ms: (message.delay_ms ?? 0) + dice.between(1, LATE_MAX_MS),
    });
    const sent: OutgoingMessage[] = [];
    for (const message of messages) {
      this.sentAt.set((JSON.parse(message.body) as { id: string }).id, this.#options.clock.now());
      const named = { ...message, id: dice.uuid() };
      if (dice.chance(lost)) continue;
      sent.push(dice.chance(late) ? later(named) : named);
      if (dice.chance(duplicate)) sent.push(later({ ...message, id: dice.uuid() }));
    }
    if (sent.length > 0) await this.#queue.send(queue, sent);
  }

  sendIn(): Promise<void> {
    return Promise.reject(new Error('nothing of the pool is sent within a transaction'));
  }

  async receive(queue: string, options: ReceiveOptions): Promise<ReceivedMessage[]> {
    this.#throttle();
    const { dice } = this.#options;
    if (options.wait_ms === 0 && dice.chance(this.#options.troubles().falseEmpty)) return [];
    return await this.#queue.receive(queue, { ...options, max: dice.between(1, options.max) });
  }

  async extend(queue: string, receipts: readonly string[], visibilityMs: number): Promise<void> {
    this.#throttle();
    await this.#queue.extend(queue, receipts, visibilityMs);
  }

  async delete(queue: string, receipts: readonly string[]): Promise<void> {
    this.#throttle();
    await this.#queue.delete(queue, receipts);
  }

  async release(queue: string, receipts: readonly string[], delayMs?: number): Promise<void> {
    this.#throttle();
    await this.#queue.release(queue, receipts, delayMs);
  }

  deadLetter(queue: string, letters: readonly { receipt: string; reason: string }[]): Promise<void> {
    return this.#queue.deadLetter(queue, letters);
  }

  listDead(queue: string | null, page: { offset: number; limit: number }): Promise<DeadLetter[]> {
    return this.#queue.listDead(queue, page);
  }

  redrive(queue: string, ids: readonly string[] | null): Promise<number> {
    return this.#queue.redrive(queue, ids);
  }

  depth(queue: string): Promise<QueueDepth> {
    return this.#queue.depth(queue);
  }

  close(): Promise<void> {
    return this.#queue.close();
  }

  #throttle(): void {
    if (this.#options.dice.chance(this.#options.troubles().throttled))
      throw new Error('the queue takes no more calls now');
  }
}
