import type { Queryable } from '../store/database.ts';

/** Message to send. */
export interface OutgoingMessage {
  /** UTF-8 string; JSON by convention. A driver may store large ones elsewhere, but delivers them whole. */
  body: string;
  /** Delay before the first delivery, milliseconds; 0 by default. */
  delay_ms?: number;
  /** UUID of the message; a second one with the same id may be dropped. Created by the driver if absent. */
  id?: string;
  /** Messages of a group keep their order in a FIFO queue; ignored otherwise. */
  group?: string;
}

/** Delivered message, hidden from other receivers until its visibility ends. */
export interface ReceivedMessage {
  id: string;
  body: string;
  /** Receipt of this delivery, for `extend`, `delete`, `release` and `deadLetter`. */
  receipt: string;
  /** Number of deliveries, this one included. */
  receive_count: number;
  /** Milliseconds since the epoch. */
  sent_at: number;
}

export interface ReceiveOptions {
  /** Maximum number, 1 to 1,000; drivers may return fewer. */
  max: number;
  /** Maximum wait for a message, milliseconds. */
  wait_ms: number;
  /** Time for which the messages are hidden from others, milliseconds. */
  visibility_ms: number;
  /** Ends the wait early, with an empty result. */
  signal?: AbortSignal;
}

export interface DeadLetter {
  id: string;
  queue: string;
  body: string;
  /** Why it was dead-lettered. */
  reason: string;
  receive_count: number;
  sent_at: number;
  dead_lettered_at: number;
}

/** Message that the queue service dead-lettered by itself. */
export type DeadLetteredMessage = Pick<DeadLetter, 'id' | 'reason' | 'receive_count' | 'sent_at'>;

export interface QueueDepth {
  /** Ready for delivery. */
  visible: number;
  /** Delivered and not settled. */
  in_flight: number;
  /** Delay has not passed. */
  delayed: number;
  dead: number;
}

/**
 * At-least-once, unordered delivery. Queues are named and need no creation. Every method takes sets, and ignores stale
 * receipts (visibility ended, and another receiver has the message).
 */
export interface MessageQueue {
  readonly driver: 'postgres' | 'sqs' | 'memory';
  send(queue: string, messages: readonly OutgoingMessage[]): Promise<void>;
  /** Sends within a database transaction: the messages are sent if and when it commits. */
  sendIn(tx: Queryable, queue: string, messages: readonly OutgoingMessage[]): Promise<void>;
  receive(queue: string, options: ReceiveOptions): Promise<ReceivedMessage[]>;
  /** Hides messages for this long from now. */
  extend(queue: string, receipts: readonly string[], visibilityMs: number): Promise<void>;
  /** Removes handled messages. */
  delete(queue: string, receipts: readonly string[]): Promise<void>;
  /** Makes messages visible again after the delay. */
  release(queue: string, receipts: readonly string[], delayMs?: number): Promise<void>;
  /** Dead-letters messages with the reason, cut at 2,000 characters. */
  deadLetter(queue: string, letters: readonly { receipt: string; reason: string }[]): Promise<void>;
  /** Oldest first; of all queues if `queue` is null. */
  listDead(queue: string | null, page: { offset: number; limit: number }): Promise<DeadLetter[]>;
  /** Turns dead letters into ordinary messages again, all of a queue if no ids are given; returns their number. */
  redrive(queue: string, ids: readonly string[] | null): Promise<number>;
  depth(queue: string): Promise<QueueDepth>;
  /**
   * Returns messages that the queue service dead-lettered by itself, by queue; absent if the service does not. A call
   * need not repeat messages of an earlier one.
   */
  listDeadLettered?(queues: readonly string[]): Promise<ReadonlyMap<string, DeadLetteredMessage[]>>;
  /** Ends pending waits with an empty result and closes connections. */
  close(): Promise<void>;
}
