import type { Logger } from '@heddle/base/log';
import type { DeadLetteredMessage } from './port.ts';
import { CALL_MAX, type SqsConnection } from './sqs-connection.ts';
import { messageOfSqs, type SqsMessage } from './sqs-envelope.ts';

/** Maximum messages per scan. */
const LOOKED_AT_MAX = 1_000;
/** Time for which scanned messages stay hidden if this process dies. */
const VISIBILITY_SECS = 30;
const WAIT_SECS = 1;
/** Skips allowed while the count is unchanged, since counts are approximate and one removal may hide one addition. */
const LOOK_EVERY = 10;
const REASON = 'dead-lettered by SQS: received too often and never settled';

/** Detects messages that SQS itself moved to a queue's dead letters, of which it sends no notification. */
export class SqsNativeDeadLetters {
  readonly #connection: SqsConnection;
  readonly #log: Logger;
  /** Per dead-letter queue: the number of messages at the last scan, and the scans skipped since. */
  readonly #looks = new Map<string, { count: number; skipped: number }>();

  constructor(connection: SqsConnection, log: Logger) {
    this.#connection = connection;
    this.#log = log;
  }

  /** Also returns nothing if the dead letters cannot be read, or have not changed since the last scan. */
  async list(queues: readonly string[]): Promise<ReadonlyMap<string, DeadLetteredMessage[]>> {
    const queuesOf = new Map<string, Set<string>>();
    for (const queue of queues) {
      const url = await this.#deadUrlOf(queue);
      if (url === null) continue;
      const served = queuesOf.get(url) ?? new Set();
      queuesOf.set(url, served.add(queue));
    }
    const found = new Map<string, DeadLetteredMessage[]>();
    for (const [url, served] of queuesOf) {
      for (const message of await this.#look(url)) {
        const { envelope, receive_count, sent_at } = message;
        // Messages with a reason were dead-lettered by their receivers, and recorded then.
        if (envelope.reason !== undefined || !served.has(envelope.queue)) continue;
        const list = found.get(envelope.queue) ?? [];
        list.push({ id: envelope.id, reason: REASON, receive_count, sent_at });
        found.set(envelope.queue, list);
      }
    }
    return found;
  }

  async #deadUrlOf(queue: string): Promise<string | null> {
    try {
      return await this.#connection.redriveTargetOf(queue);
    } catch (error) {
      this.#log.debug({ err: error, queue }, 'could not look up the dead-letter queue');
      return null;
    }
  }

  async #look(url: string): Promise<SqsMessage[]> {
    try {
      const { visible, in_flight } = await this.#connection.counts(url);
      const last = this.#looks.get(url);
      if (last?.count === visible + in_flight && last.skipped < LOOK_EVERY) {
        last.skipped += 1;
        return [];
      }
      const messages = await this.#receiveAll(url);
      this.#looks.set(url, { count: visible + in_flight, skipped: 0 });
      return messages;
    } catch (error) {
      this.#log.warn({ err: error, url }, 'dead letters at SQS could not be read; retrying later');
      return [];
    }
  }

  async #receiveAll(url: string): Promise<SqsMessage[]> {
    const seen = new Map<string, SqsMessage>();
    try {
      while (seen.size < LOOKED_AT_MAX) {
        const call = { url, max: CALL_MAX, waitSecs: WAIT_SECS, visibilitySecs: VISIBILITY_SECS };
        const messages = await this.#connection.receive(call);
        if (messages.length === 0) break;
        for (const message of messages.map((each) => messageOfSqs('', each))) seen.set(message.handle, message);
      }
    } finally {
      await this.#connection.hide(url, [...seen.keys()], 0);
    }
    return [...seen.values()];
  }
}
