import type { Message } from '@aws-sdk/client-sqs';

import { HeddleError } from '@heddle/base/errors';
import { isUuid } from '@heddle/base/ids';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { newId } from '@heddle/base/random';
import type { Database, Queryable } from '../store/database.ts';
import { noteDeadLetters } from '../store/queue-messages.ts';
import { checkMessages, checkQueueName, checkReceive, closedError, cutReason, type CheckedMessage } from './limits.ts';
import { writeOutgoing } from './outgoing.ts';
import type {
  DeadLetteredMessage,
  DeadLetter,
  MessageQueue,
  OutgoingMessage,
  QueueDepth,
  ReceivedMessage,
  ReceiveOptions,
} from './port.ts';
import { SqsBodies } from './sqs-bodies.ts';
import { SqsNativeDeadLetters } from './sqs-native-dead-letters.ts';
import { CALL_MAX, type Refusal, type SqsConnection } from './sqs-connection.ts';
import { SqsDeadLetters } from './sqs-dead-letters.ts';
import { messageOfSqs, readReceipt, writeReceipt, type SqsMessage, type SqsReceipt } from './sqs-envelope.ts';
import { SqsHeld } from './sqs-held.ts';
import { sendToDead, sendToSqs } from './sqs-send.ts';

export interface SqsQueueOptions {
  connection: SqsConnection;
  /** Stores what SQS cannot carry and messages sent within transactions; null if the process has no database. */
  database: Database | null;
  maxReceives: number;
  clock: Clock;
  log: Logger;
}

/** SQS limits: delay, visibility timeout, wait of a call. */
const DELAY_MS_MAX = 900_000;
const VISIBILITY_SECS_MAX = 43_200;
const WAIT_SECS_MAX = 20;
/** Error codes of stale receipts and missing messages. */
const OVER = /ReceiptHandleIsInvalid|MessageNotInflight|InvalidParameterValue/;

/** Queues of Amazon SQS, or of a compatible service. Times are rounded up to whole seconds. */
export class SqsQueue implements MessageQueue {
  readonly driver = 'sqs';
  readonly #connection: SqsConnection;
  readonly #database: Database | null;
  readonly #maxReceives: number;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #bodies: SqsBodies;
  readonly #dead: SqsDeadLetters;
  readonly #nativeDeadLetters: SqsNativeDeadLetters;
  readonly #held: SqsHeld;
  readonly #closing = new AbortController();
  readonly #polls = new Set<Promise<unknown>>();

  constructor({ connection, database, maxReceives, clock, log }: SqsQueueOptions) {
    this.#connection = connection;
    this.#database = database;
    this.#maxReceives = maxReceives;
    this.#clock = clock;
    this.#log = log;
    this.#bodies = new SqsBodies(database, log);
    this.#dead = new SqsDeadLetters(connection, this.#bodies);
    this.#nativeDeadLetters = new SqsNativeDeadLetters(connection, log);
    this.#held = new SqsHeld(clock);
  }

  async send(queue: string, messages: readonly OutgoingMessage[]): Promise<void> {
    this.#refuseClosed();
    if (messages.length === 0) return;
    const checked = checkMessages(queue, messages);
    const later = checked.filter((message) => this.#waitsInOutbox(message));
    if (later.length > 0) await writeOutgoing(this.#databaseFor('a delay that SQS does not offer'), queue, later, null);
    const now = checked.filter((message) => !this.#waitsInOutbox(message));
    if (now.length > 0) await sendToSqs(this.#connection, this.#bodies, queue, now);
  }

  async sendIn(tx: Queryable, queue: string, messages: readonly OutgoingMessage[]): Promise<void> {
    this.#refuseClosed();
    await writeOutgoing(tx, queue, checkMessages(queue, messages), null);
  }

  async receive(queue: string, options: ReceiveOptions): Promise<ReceivedMessage[]> {
    checkQueueName(queue);
    checkReceive(options);
    const deadline = this.#clock.monotonic() + options.wait_ms;
    while (!this.#closing.signal.aborted && options.signal?.aborted !== true) {
      const leftSecs = Math.ceil(Math.max(0, deadline - this.#clock.monotonic()) / 1_000);
      const found = await this.#poll(queue, options, Math.min(leftSecs, WAIT_SECS_MAX));
      const messages = await this.#handOut(queue, found, options.visibility_ms);
      if (messages.length > 0) return messages;
      if (found.length === 0 && this.#clock.monotonic() >= deadline) return [];
    }
    return [];
  }

  /**
   * Adopts messages received elsewhere, such as the records of a Lambda event, so that they can be settled here.
   *
   * @param visibilityMs time for which they are hidden from others
   */
  async adopt(queue: string, records: readonly Message[], visibilityMs: number): Promise<ReceivedMessage[]> {
    return await this.#handOut(
      queue,
      records.map((record) => messageOfSqs(queue, record)),
      visibilityMs,
    );
  }

  async extend(queue: string, receipts: readonly string[], visibilityMs: number): Promise<void> {
    this.#held.extend(receipts, visibilityMs);
    await this.#hide(queue, receipts, secsOf(visibilityMs));
  }

  async delete(queue: string, receipts: readonly string[]): Promise<void> {
    const read = receipts.map(readReceipt).filter((receipt) => receipt !== null);
    if (read.length === 0) return;
    const url = await this.#connection.urlOf(queue);
    const refused = await this.#connection.delete(
      url,
      read.map(({ handle }) => handle),
    );
    this.#held.drop(receipts);
    this.#expectOver(refused);
    await this.#bodies.delete(read.flatMap(({ body }) => body ?? []));
  }

  async release(queue: string, receipts: readonly string[], delayMs = 0): Promise<void> {
    this.#held.drop(receipts);
    await this.#hide(queue, receipts, secsOf(delayMs));
  }

  async deadLetter(queue: string, letters: readonly { receipt: string; reason: string }[]): Promise<void> {
    const held = letters.flatMap(({ receipt, reason }) => {
      const message = this.#held.get(receipt);
      return message === undefined ? [] : [{ message, reason: cutReason(reason) }];
    });
    await this.#deadLetter(queue, held);
    this.#held.drop(letters.map(({ receipt }) => receipt));
  }

  listDead(queue: string | null, page: { offset: number; limit: number }): Promise<DeadLetter[]> {
    return this.#dead.list(queue, page);
  }

  redrive(queue: string, ids: readonly string[] | null): Promise<number> {
    this.#refuseClosed();
    return this.#dead.redrive(queue, ids);
  }

  /** Returns the approximate counts of SQS; `dead` counts those of all queues together. */
  async depth(queue: string): Promise<QueueDepth> {
    const [counts, dead] = await Promise.all([
      this.#connection.urlOf(queue).then((url) => this.#connection.counts(url)),
      this.#connection.deadUrl().then((url) => this.#connection.counts(url)),
    ]);
    return { ...counts, dead: dead.visible + dead.in_flight };
  }

  async listDeadLettered(queues: readonly string[]): Promise<ReadonlyMap<string, DeadLetteredMessage[]>> {
    this.#refuseClosed();
    const deadLettered = await this.#nativeDeadLetters.list(queues);
    // Messages of other senders have ids of SQS, on which no task waits.
    return new Map([...deadLettered].map(([queue, messages]) => [queue, messages.filter(({ id }) => isUuid(id))]));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#polls);
    this.#connection.close();
  }

  #waitsInOutbox({ delay_ms: delayMs }: CheckedMessage): boolean {
    return delayMs > DELAY_MS_MAX || (this.#connection.fifo && delayMs > 0);
  }

  /**
   * Requests messages. An abort ends the wait, not the call: messages that SQS delivers at the same time are released
   * instead of staying hidden until their visibility ends.
   */
  async #poll(queue: string, options: ReceiveOptions, waitSecs: number): Promise<SqsMessage[]> {
    const polled = this.#ask(queue, options, waitSecs);
    const settled = polled.then(
      () => undefined,
      () => undefined,
    );
    this.#polls.add(settled);
    void settled.then(() => this.#polls.delete(settled));
    const messages = await unlessAborted(polled, options.signal);
    if (messages !== null) return messages;
    const givenBack = polled
      .then((late) => this.#giveBack(queue, late))
      .catch((error: unknown) => this.#log.debug({ err: error, queue }, 'aborted receive failed'));
    this.#polls.add(givenBack);
    void givenBack.then(() => this.#polls.delete(givenBack));
    return [];
  }

  /** Makes one call that may wait; if it returns a full set, makes further calls in parallel for the rest. */
  async #ask(queue: string, { max, visibility_ms }: ReceiveOptions, waitSecs: number): Promise<SqsMessage[]> {
    const url = await this.#connection.urlOf(queue);
    const call = { url, visibilitySecs: Math.max(1, secsOf(visibility_ms)), signal: this.#closing.signal };
    try {
      const first = await this.#connection.receive({ ...call, max, waitSecs });
      const rest = first.length === CALL_MAX ? max - CALL_MAX : 0;
      const calls = Array.from({ length: Math.ceil(rest / CALL_MAX) }, (_, index) =>
        this.#connection.receive({ ...call, max: rest - index * CALL_MAX, waitSecs: 0 }),
      );
      const answers = await Promise.allSettled(calls);
      const more = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
      return [...first, ...more].map((message) => messageOfSqs(queue, message));
    } catch (error) {
      if (this.#closing.signal.aborted) return [];
      throw error;
    }
  }

  async #giveBack(queue: string, messages: readonly SqsMessage[]): Promise<void> {
    if (messages.length === 0) return;
    const handles = messages.map(({ handle }) => handle);
    await this.#connection.hide(await this.#connection.urlOf(queue), handles, 0);
  }

  /** Dead-letters messages received too often, and loads bodies stored in the database. */
  async #handOut(queue: string, found: readonly SqsMessage[], visibilityMs: number): Promise<ReceivedMessage[]> {
    const poison = found.filter((message) => message.receive_count > this.#maxReceives);
    if (poison.length > 0) {
      await this.#deadLetter(
        queue,
        poison.map((message) => {
          const deliveries = message.receive_count - 1;
          const reason = `received ${deliveries} times and never settled`;
          return { message: { ...message, receive_count: deliveries }, reason };
        }),
      );
    }
    const messages = found.filter((message) => message.receive_count <= this.#maxReceives);
    const receipts = messages.map(receiptOf);
    const bodies = await this.#bodies.load(receipts.flatMap(({ body }) => body ?? []));
    const handledBefore: string[] = [];
    const handedOut = messages.flatMap((message, index): ReceivedMessage[] => {
      const receipt = receipts[index]!;
      const body = receipt.body === null ? message.raw : bodies.get(receipt.body.id);
      if (body === undefined) {
        handledBefore.push(message.handle);
        return [];
      }
      const written = writeReceipt(receipt);
      this.#held.add(written, message, visibilityMs);
      const { receive_count, sent_at, envelope } = message;
      return [{ id: envelope.id, body, receipt: written, receive_count, sent_at }];
    });
    if (handledBefore.length > 0) {
      this.#log.debug(
        { queue, messages: handledBefore.length },
        'dropped messages without a body; they were handled before',
      );
      await this.#connection.delete(await this.#connection.urlOf(queue), handledBefore);
    }
    return handedOut;
  }

  /** Sends to the dead letters first and deletes afterwards: a process that dies in between duplicates a message. */
  async #deadLetter(queue: string, letters: readonly { message: SqsMessage; reason: string }[]): Promise<void> {
    if (letters.length === 0) return;
    await this.#note(queue, letters);
    await this.#bodies.touch(letters.flatMap(({ message }) => message.envelope.body_id ?? []));
    const named = letters.map(({ message, reason }) => ({
      message: { ...message, envelope: { ...message.envelope, queue } },
      reason,
    }));
    await sendToDead(this.#connection, named);
    const handles = letters.map(({ message }) => message.handle);
    this.#expectOver(await this.#connection.delete(await this.#connection.urlOf(queue), handles));
  }

  /** Records dead letters that tasks wait for in the database, since the manager cannot look up a message at SQS. */
  async #note(queue: string, letters: readonly { message: SqsMessage; reason: string }[]): Promise<void> {
    if (this.#database === null) return;
    const notes = letters
      .filter(({ message }) => isUuid(message.envelope.id))
      .map(({ message: { envelope, receive_count, sent_at }, reason }) => ({
        id: envelope.id,
        reason,
        receive_count,
        sent_at,
      }));
    await noteDeadLetters(this.#database, queue, notes);
  }

  async #hide(queue: string, receipts: readonly string[], secs: number): Promise<void> {
    const handles = receipts.map(readReceipt).flatMap((receipt) => receipt?.handle ?? []);
    if (handles.length === 0) return;
    this.#expectOver(await this.#connection.hide(await this.#connection.urlOf(queue), handles, secs));
  }

  /** Ignores stale receipts; any other rejection fails the call. */
  #expectOver(refused: readonly Refusal<unknown>[]): void {
    const faults = refused.filter(({ code }) => !OVER.test(code));
    if (faults.length === 0) return;
    const details = faults.slice(0, 10).map(({ code, message }) => `${code}: ${message}`);
    throw new HeddleError('QUEUE_UNAVAILABLE', `SQS rejected ${faults.length} receipts`, { details });
  }

  #databaseFor(purpose: string): Database {
    if (this.#database !== null) return this.#database;
    throw new HeddleError('VALIDATION_FAILED', `A message needs the database for ${purpose}; this process has none`);
  }

  #refuseClosed(): void {
    if (this.#closing.signal.aborted) throw closedError();
  }
}

function receiptOf({ envelope, handle }: SqsMessage): SqsReceipt {
  const body = envelope.body_id === undefined ? null : { id: envelope.body_id, receipt: newId() };
  return { id: envelope.id, body, handle };
}

function secsOf(ms: number): number {
  return Math.min(VISIBILITY_SECS_MAX, Math.ceil(ms / 1_000));
}

/** Returns the promise's value, or null as soon as the signal aborts. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T | null> {
  if (signal === undefined) return await promise;
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<null>((resolve) => {
    onAbort = () => resolve(null);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) resolve(null);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort!);
  }
}
