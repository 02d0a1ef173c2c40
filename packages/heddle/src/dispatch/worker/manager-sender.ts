import { HeddleError } from '@heddle/base/errors';
import {
  MANAGER_QUEUE,
  type CreateTaskMessage,
  type HeartbeatTaskMessage,
  type ManagerMessage,
} from '@heddle/core/domain/message';
import { encodeManagerMessage } from '@heddle/core/domain/parse/encode';
import type { NodeCreation } from '@heddle/core/engine/port';
import type { MessageQueue, OutgoingMessage } from '@heddle/core/queue/port';
import type { Clock } from '@heddle/base/clock';
import { Coalescer } from '@heddle/base/coalescer';
import { finishesWithin } from '@heddle/base/finishes-within';
import type { Logger } from '@heddle/base/log';
import { newId, type Random } from '@heddle/base/random';
import { retrying } from '@heddle/base/retry';
import type { NodeSink } from '../kind/node-emitter.ts';

const SET_MAX = 500;
const WAITING_MAX = 100_000;
const BACKOFF = { base_ms: 100, factor: 2, max_ms: 5000, jitter: 0.5 };
/** Tries of a set that fails for reasons that waiting may not fix. */
const UNEXPLAINED_TRIES_MAX = 4;

/**
 * Sends messages to the manager in sets: those that arrive while a set is being sent form the next one. Retries an
 * unresponsive queue until it is closed.
 */
export class ManagerSender implements NodeSink {
  readonly #options: { queue: MessageQueue; clock: Clock; random: Random; log: Logger };
  readonly #coalescer: Coalescer<OutgoingMessage, undefined>;
  readonly #abandon = new AbortController();

  constructor(options: { queue: MessageQueue; clock: Clock; random: Random; log: Logger }) {
    this.#options = options;
    this.#coalescer = new Coalescer<OutgoingMessage, undefined>({
      flush: async (messages) => {
        await this.#send(messages);
        return messages.map(() => undefined);
      },
      maxItems: SET_MAX,
      maxUnderWay: 2,
      maxWaiting: WAITING_MAX,
    });
  }

  /** Messages that no set has taken yet. */
  get waiting(): number {
    return this.#coalescer.waiting;
  }

  /** Whether sending was abandoned: unsent messages stay unsent. */
  get closed(): boolean {
    return this.#abandon.signal.aborted;
  }

  /** Resolves when the queue has the message. */
  async post(message: Exclude<ManagerMessage, HeartbeatTaskMessage>): Promise<void> {
    await this.#coalescer.add({ id: newId(), body: encodeManagerMessage(message) });
  }

  /** A heartbeat has a message id, so that its counts are added once even if it was sent twice. */
  async beat(message: HeartbeatTaskMessage): Promise<void> {
    const id = newId();
    await this.#coalescer.add({ id, body: JSON.stringify({ ...message, message_id: id }) });
  }

  /** Sends the nodes of a generator, one message each. */
  async send(creations: readonly NodeCreation[]): Promise<void> {
    await this.#send(creations.map((creation) => ({ id: newId(), body: encodeManagerMessage(createTask(creation)) })));
  }

  /** Waits up to `ms` for pending messages to be sent. */
  async close(ms: number): Promise<void> {
    await finishesWithin(this.#options.clock, ms, this.#coalescer.drain());
    this.#abandon.abort(new Error('the worker stopped before its messages were sent'));
  }

  async #send(messages: readonly OutgoingMessage[]): Promise<void> {
    const { queue, clock, random, log } = this.#options;
    const { signal } = this.#abandon;
    const send = async (): Promise<void> => {
      signal.throwIfAborted();
      await queue.send(MANAGER_QUEUE, messages);
    };
    const mayRetry = (error: unknown, retry: number): boolean => {
      if (!mayPass(error, retry)) return false;
      log.warn({ err: error, messages: messages.length, retry }, 'could not send messages; retrying');
      return true;
    };
    await retrying(send, { policy: BACKOFF, clock, random, signal, mayRetry });
  }
}

/** Catalogued errors say whether waiting helps; others are retried a few times, and then the set is split. */
function mayPass(error: unknown, tries: number): boolean {
  return error instanceof HeddleError ? error.retryable : tries < UNEXPLAINED_TRIES_MAX;
}

function createTask({ node, generator_id, attempt, parent }: NodeCreation): CreateTaskMessage {
  return { type: 'CreateTask', task: node, generator_id, attempt, parent_id: parent };
}
