import type { Logger } from '../runtime/log.ts';
import type { BuriedMessage } from './port.ts';
import { CALL_MAX, type SqsConnection } from './sqs-connection.ts';
import { messageOfSqs, type SqsMessage } from './sqs-envelope.ts';

/** A look goes through no more messages than this. */
const LOOKED_AT_MAX = 1_000;
/** For so long nobody else sees what is looked at, should this process die. */
const VISIBILITY_SECS = 30;
const WAIT_SECS = 1;
/** Counts are approximate, and one that left may hide one that came: so often it is looked at whatever they say. */
const LOOK_EVERY = 10;
const REASON = 'SQS itself moved it to the dead letters: received too often and never settled';

/** What SQS itself moved to a queue's dead letters: it tells nobody, so that somebody has to look. */
export class SqsBuried {
  readonly #connection: SqsConnection;
  readonly #log: Logger;
  /** Per queue of dead letters: how many there were at the last look, and how often it was left out since. */
  readonly #looks = new Map<string, { count: number; skipped: number }>();

  constructor(connection: SqsConnection, log: Logger) {
    this.#connection = connection;
    this.#log = log;
  }

  /** Empty also where the dead letters cannot be read, or have not changed since the last look. */
  async list(queues: readonly string[]): Promise<ReadonlyMap<string, BuriedMessage[]>> {
    const queuesOf = new Map<string, Set<string>>();
    for (const queue of queues) {
      const url = await this.#deadUrlOf(queue);
      if (url === null) continue;
      const served = queuesOf.get(url) ?? new Set();
      queuesOf.set(url, served.add(queue));
    }
    const found = new Map<string, BuriedMessage[]>();
    for (const [url, served] of queuesOf) {
      for (const message of await this.#look(url)) {
        const { envelope, receive_count, sent_at } = message;
        // Those with a reason were buried by their receivers, and noted then.
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
      this.#log.debug({ err: error, queue }, 'Where SQS moves dead letters of a queue could not be found out');
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
      this.#log.warn({ err: error, url }, 'Dead letters at SQS could not be read; their tasks end later');
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
