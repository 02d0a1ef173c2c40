import type { Queryable } from '../store/database.ts';

/** A message on its way in. */
export interface OutgoingMessage {
  /** UTF-8 text; JSON by convention. A driver may keep large ones elsewhere, but hands them out whole. */
  body: string;
  /** Not handed out before, milliseconds from now; 0 by default. */
  delay_ms?: number;
  /** UUID of the message; a second one with the same id may be dropped. Made by the driver where absent. */
  id?: string;
  /** Messages of a group keep their order where the queue is a FIFO one; ignored elsewhere. */
  group?: string;
}

/** A message handed out: nobody else gets it until its visibility ends. */
export interface ReceivedMessage {
  id: string;
  body: string;
  /** Names this delivery: what `extend`, `delete`, `release` and `bury` take. */
  receipt: string;
  /** Deliveries so far, this one included. */
  receive_count: number;
  /** Milliseconds since the epoch. */
  sent_at: number;
}

export interface ReceiveOptions {
  /** At most this many, 1 to 1,000; drivers may hand out fewer. */
  max: number;
  /** How long to wait where nothing is there, milliseconds. */
  wait_ms: number;
  /** How long the messages are hidden from others, milliseconds. */
  visibility_ms: number;
  /** Ends the wait early, with an empty answer. */
  signal?: AbortSignal;
}

export interface DeadLetter {
  id: string;
  queue: string;
  body: string;
  /** Why nobody will take it. */
  reason: string;
  receive_count: number;
  sent_at: number;
  died_at: number;
}

/** A message that became a dead letter without this program having had a hand in it. */
export type BuriedMessage = Pick<DeadLetter, 'id' | 'reason' | 'receive_count' | 'sent_at'>;

export interface QueueDepth {
  /** May be handed out now. */
  visible: number;
  /** Handed out and not settled. */
  in_flight: number;
  /** Their delay has not passed. */
  delayed: number;
  dead: number;
}

/**
 * At-least-once, unordered delivery. Queues are named; naming one is enough to use it. Every method takes sets, and a
 * receipt that is over (its visibility ended, and somebody else has the message) is ignored.
 */
export interface MessageQueue {
  readonly driver: 'postgres' | 'sqs' | 'memory';
  send(queue: string, messages: readonly OutgoingMessage[]): Promise<void>;
  /** Sends within a transaction of the database: the messages leave when it commits, and only then. */
  sendIn(tx: Queryable, queue: string, messages: readonly OutgoingMessage[]): Promise<void>;
  receive(queue: string, options: ReceiveOptions): Promise<ReceivedMessage[]>;
  /** Hides messages for this long from now. */
  extend(queue: string, receipts: readonly string[], visibilityMs: number): Promise<void>;
  /** They were handled. */
  delete(queue: string, receipts: readonly string[]): Promise<void>;
  /** Hands them back: visible again after the delay. */
  release(queue: string, receipts: readonly string[], delayMs?: number): Promise<void>;
  /** Moves them to the dead letters with the reason, cut at 2,000 characters. */
  bury(queue: string, letters: readonly { receipt: string; reason: string }[]): Promise<void>;
  /** Oldest first; of all queues where `queue` is null. */
  listDead(queue: string | null, page: { offset: number; limit: number }): Promise<DeadLetter[]>;
  /** Makes dead letters ordinary messages again, all of a queue where no ids are given; returns how many. */
  redrive(queue: string, ids: readonly string[] | null): Promise<number>;
  depth(queue: string): Promise<QueueDepth>;
  /**
   * Messages that the service behind the driver made dead letters by itself, by queue; absent where none does. A call
   * need not name again what an earlier one named.
   */
  listBuried?(queues: readonly string[]): Promise<ReadonlyMap<string, BuriedMessage[]>>;
  /** Resolves what waits with nothing, and lets go of connections. */
  close(): Promise<void>;
}
