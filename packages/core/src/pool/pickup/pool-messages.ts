import type { RunnerMessage } from '../../domain/runner/runner.ts';
import type { Logger } from '@heddle/base/log';
import type { MessageQueue, OutgoingMessage, ReceivedMessage } from '../../queue/port.ts';
import type { PoolMetrics } from '../context.ts';
import type { BackendCounts } from '../port/backend.ts';
import { writeRunnerMessage } from './message.ts';
import type { PickupPolicy } from './policy.ts';

/** A message that this process holds, hidden from other processes, and its runner. */
export interface Candidate {
  readonly runner: RunnerMessage;
  /** Queue that the message was received from. */
  readonly queue: string;
  readonly receipt: string;
}

export interface ReceiveCall {
  /** Number of messages, 1 to `CALL_MAX`. */
  readonly max: number;
  /** Milliseconds; 0 is a short poll. */
  readonly wait_ms: number;
  readonly signal?: AbortSignal;
}

/** Maximum number of messages in one call to a queue service. */
export const CALL_MAX = 10;

export interface PoolMessagesOptions {
  readonly queue: MessageQueue;
  readonly queueOf: (runner: RunnerMessage) => string;
  readonly policy: PickupPolicy;
  readonly counts: BackendCounts;
  readonly log: Logger;
  readonly metrics?: PickupMetrics;
  readonly driver: string;
}

export type PickupMetrics = Pick<PoolMetrics, 'requeued' | 'discarded'>;

/** A message to be discarded, and why. */
export interface Discard {
  readonly queue: string;
  readonly message: ReceivedMessage;
  readonly reason: string;
  /** The message was valid, but its runner has expired, which is routine. */
  readonly expired: boolean;
}

/** The queues of a pool. Counts calls as the queue service bills them: up to ten messages per call. */
export class PoolMessages {
  readonly #options: PoolMessagesOptions;

  constructor(options: PoolMessagesOptions) {
    this.#options = options;
  }

  async receive(queue: string, { max, wait_ms, signal }: ReceiveCall): Promise<ReceivedMessage[]> {
    this.#options.counts.operations += 1;
    const { visibility_ms } = this.#options.policy;
    const wait = signal === undefined ? { wait_ms } : { wait_ms, signal };
    return await this.#options.queue.receive(queue, { max, visibility_ms, ...wait });
  }

  async send(runners: readonly RunnerMessage[], delayMs: number): Promise<void> {
    const byQueue = Map.groupBy(runners, this.#options.queueOf);
    for (const [queue, group] of byQueue) {
      this.#count(group.length);
      await this.#options.queue.send(
        queue,
        group.map((runner) => outgoing(runner, delayMs)),
      );
    }
  }

  /** Logs and deletes messages. */
  async discard(discards: readonly Discard[]): Promise<void> {
    for (const { queue, message, reason, expired } of discards) {
      const level = expired ? 'debug' : 'warn';
      this.#options.log[level]({ queue, message_id: message.id, reason }, 'pool message discarded');
    }
    for (const [queue, group] of Map.groupBy(discards, ({ queue }) => queue)) {
      await this.delete(
        queue,
        group.map(({ message }) => message.receipt),
      );
    }
    if (discards.length === 0) return;
    this.#options.counts.discarded += discards.length;
    this.#options.metrics?.discarded(this.#options.driver, discards.length);
  }

  /** Deletes messages by receipt. */
  async delete(queue: string, receipts: readonly string[]): Promise<void> {
    if (receipts.length === 0) return;
    this.#count(receipts.length);
    await this.#options.queue.delete(queue, receipts);
  }

  async drop(candidates: readonly Candidate[]): Promise<void> {
    for (const [queue, group] of Map.groupBy(candidates, ({ queue }) => queue)) {
      await this.delete(
        queue,
        group.map(({ receipt }) => receipt),
      );
    }
  }

  /**
   * Returns candidates to their queues. New messages are sent before the old ones are deleted: duplicates after a crash
   * are harmless, while merely releasing a message would increase its receive count until it is dead-lettered.
   */
  async requeue(candidates: readonly Candidate[], delayMs: number): Promise<void> {
    if (candidates.length === 0) return;
    await this.send(
      candidates.map(({ runner }) => runner),
      delayMs,
    );
    await this.drop(candidates);
    this.#options.counts.requeued += candidates.length;
    this.#options.metrics?.requeued(this.#options.driver, candidates.length);
  }

  /** Extends the visibility timeout of held candidates. */
  async extend(candidates: readonly Candidate[]): Promise<void> {
    for (const [queue, group] of Map.groupBy(candidates, ({ queue }) => queue)) {
      this.#count(group.length);
      const receipts = group.map(({ receipt }) => receipt);
      await this.#options.queue.extend(queue, receipts, this.#options.policy.visibility_ms);
    }
  }

  #count(messages: number): void {
    this.#options.counts.operations += Math.ceil(messages / CALL_MAX);
  }
}

function outgoing(runner: RunnerMessage, delayMs: number): OutgoingMessage {
  const body = writeRunnerMessage(runner);
  return delayMs > 0 ? { body, delay_ms: delayMs } : { body };
}
