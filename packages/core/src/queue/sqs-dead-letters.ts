import { HeddleError } from '@heddle/base/errors';
import type { DeadLetter } from './port.ts';
import type { SqsBodies } from './sqs-bodies.ts';
import { CALL_MAX, type SqsConnection } from './sqs-connection.ts';
import { messageOfSqs, type SqsMessage } from './sqs-envelope.ts';
import { sendAgain } from './sqs-send.ts';

/** Maximum dead letters per list. */
const LISTED_MAX = 1_000;
const REDRIVEN_MAX = 10_000;
/** Visibility timeout while listing dead letters, which requires receiving them. */
const LIST_VISIBILITY_SECS = 30;
const REDRIVE_VISIBILITY_SECS = 120;
/** A short poll queries only some of SQS's servers and may miss messages. */
const WAIT_SECS = 1;

/** Dead letters of all queues, kept in one SQS queue: listing them means receiving them. */
export class SqsDeadLetters {
  readonly #connection: SqsConnection;
  readonly #bodies: SqsBodies;

  constructor(connection: SqsConnection, bodies: SqsBodies) {
    this.#connection = connection;
    this.#bodies = bodies;
  }

  async list(queue: string | null, { offset, limit }: { offset: number; limit: number }): Promise<DeadLetter[]> {
    const url = await this.#connection.deadUrl();
    const seen = new Map<string, SqsMessage>();
    try {
      for await (const messages of this.#looks(url, LIST_VISIBILITY_SECS, LISTED_MAX)) {
        for (const message of messages) seen.set(message.handle, message);
      }
    } finally {
      await this.#connection.hide(url, [...seen.keys()], 0);
    }
    const letters = [...seen.values()].filter(({ envelope }) => queue === null || envelope.queue === queue);
    letters.sort((one, other) => one.sent_at - other.sent_at);
    return await this.#read(letters.slice(offset, offset + limit));
  }

  async redrive(queue: string, ids: readonly string[] | null): Promise<number> {
    const url = await this.#connection.deadUrl();
    const left = ids === null ? null : new Set(ids.map((id) => id.toLowerCase()));
    const others: string[] = [];
    let moved = 0;
    try {
      for await (const messages of this.#looks(url, REDRIVE_VISIBILITY_SECS, REDRIVEN_MAX)) {
        const wanted = messages.filter(
          ({ envelope }) => envelope.queue === queue && (left === null || left.has(envelope.id)),
        );
        const chosen = new Set(wanted);
        others.push(...messages.filter((message) => !chosen.has(message)).map(({ handle }) => handle));
        moved += await this.#move(url, queue, wanted);
        for (const { envelope } of wanted) left?.delete(envelope.id);
        if (left?.size === 0) break;
      }
    } finally {
      await this.#connection.hide(url, others, 0);
    }
    return moved;
  }

  /** Sends first and deletes afterwards: a process that dies in between duplicates a message, but never loses it. */
  async #move(url: string, queue: string, letters: readonly SqsMessage[]): Promise<number> {
    if (letters.length === 0) return 0;
    await this.#bodies.touch(letters.flatMap(({ envelope }) => envelope.body_id ?? []));
    const refused = await sendAgain(this.#connection, queue, letters);
    if (refused.length > 0) {
      throw new HeddleError('QUEUE_UNAVAILABLE', `SQS rejected ${refused.length} messages: ${refused[0]!.code}`);
    }
    await this.#connection.delete(
      url,
      letters.map(({ handle }) => handle),
    );
    return letters.length;
  }

  /** Receives until no visible message is left. */
  async *#looks(url: string, visibilitySecs: number, most: number): AsyncGenerator<SqsMessage[]> {
    for (let looked = 0; looked < most;) {
      const messages = await this.#connection.receive({ url, max: CALL_MAX, waitSecs: WAIT_SECS, visibilitySecs });
      if (messages.length === 0) return;
      looked += messages.length;
      yield messages.map((message) => messageOfSqs('', message));
    }
  }

  async #read(letters: readonly SqsMessage[]): Promise<DeadLetter[]> {
    const bodies = await this.#bodies.read(letters.flatMap(({ envelope }) => envelope.body_id ?? []));
    return letters.map(({ envelope, raw, sent_at: deadLetteredAt, receive_count: received }) => ({
      id: envelope.id,
      queue: envelope.queue,
      body: envelope.body_id === undefined ? raw : (bodies.get(envelope.body_id) ?? ''),
      reason: envelope.reason ?? 'dead-lettered by SQS: received too often',
      receive_count: envelope.receive_count ?? received,
      sent_at: envelope.sent_at ?? deadLetteredAt,
      dead_lettered_at: deadLetteredAt,
    }));
  }
}
