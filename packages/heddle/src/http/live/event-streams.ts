import type { ServerResponse } from 'node:http';

import { HeddleError } from '@heddle/base/errors';
import type { Engine } from '@heddle/core/engine/port';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { EventWriter } from './event-writer.ts';
import type { Feed, FeedChanges } from './feed.ts';

/** Minimum time between two changes on one stream: at most four a second. */
const PACE_MS = 250;
/** Interval of comments that keep proxies from closing a quiet stream; each also polls for missed changes. */
const HEARTBEAT_MS = 5000;
const DATABASE_AWAY_MS = 1000;
const STREAMS_DEFAULT = 256;

/** Returns whether the caller's token or session is still live; null if none is needed. */
type Admission = (() => Promise<boolean>) | null;

interface Source {
  feed: Feed;
  isStillAdmitted: Admission;
}

interface Dependencies {
  engine: Engine;
  clock: Clock;
  log: Logger;
}

/** The open event streams: limited in number, ended together when the server stops. */
export class EventStreams {
  readonly #dependencies: Dependencies;
  readonly #max: number;
  readonly #open = new Map<AbortController, Promise<void>>();
  #closing = false;

  constructor(dependencies: Dependencies, max = STREAMS_DEFAULT) {
    this.#dependencies = dependencies;
    this.#max = max;
  }

  get closing(): boolean {
    return this.#closing;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Throws if the maximum number of streams is open. */
  requireRoom(): void {
    if (this.#closing) throw new HeddleError('SHUTTING_DOWN');
    if (this.#open.size < this.#max) return;
    throw new HeddleError('TOO_MANY_REQUESTS', `The maximum of ${this.#max} event streams are open`, {
      details: ['streams: none available; poll GET /dag/{batch_id} or GET /v1/workflows/{workflow_id} meanwhile'],
      retryAfterSecs: 5,
    });
  }

  /** Sends the changes of a feed since `cursor`, until it ends, the client disconnects, or is admitted no longer. */
  open(feed: Feed, cursor: number, response: ServerResponse, isStillAdmitted: Admission): void {
    const stop = new AbortController();
    response.once('close', () => stop.abort());
    const writer = new EventWriter(response, stop.signal);
    const sending = sendChanges(this.#dependencies, { feed, isStillAdmitted }, cursor, writer, stop.signal)
      .catch((error: unknown) => {
        this.#dependencies.log.error({ err: error, workflow_id: feed.workflowId }, 'event stream failed');
      })
      .finally(() => {
        this.#open.delete(stop);
        response.end();
      });
    this.#open.set(stop, sending);
  }

  async close(): Promise<void> {
    this.#closing = true;
    for (const stop of this.#open.keys()) stop.abort();
    await Promise.all(this.#open.values());
  }
}

async function sendChanges(
  { engine, clock }: Dependencies,
  source: Source,
  from: number,
  writer: EventWriter,
  signal: AbortSignal,
): Promise<void> {
  const { feed } = source;
  const bell = new Bell();
  const unsubscribe = engine.onWorkflowChange(feed.workflowId, () => bell.ring());
  const stopWaiting = (): void => bell.ring();
  signal.addEventListener('abort', stopWaiting);
  try {
    let cursor = from;
    let first = true;
    while (!signal.aborted) {
      const news = await readChanges(source, cursor);
      if (news === null) return;
      if (news === 'away') {
        writer.comment('the database is unavailable');
        await clock.sleep(DATABASE_AWAY_MS, signal);
        continue;
      }
      cursor = news.cursor;
      const parts = news.parts.length === 0 && (first || news.ended) ? [news.bare] : news.parts;
      for (const [index, part] of parts.entries()) {
        await writer.event('change', part, index === parts.length - 1 ? cursor : null);
      }
      if (news.ended) {
        await writer.event('end', news.bare, cursor);
        return;
      }
      first = false;
      if (news.more === true) continue;
      // Writes no faster than a slow client reads: `event` waits until its socket can accept more.
      await clock.sleep(PACE_MS, signal);
      await bell.heard(clock, feed.pollMs ?? HEARTBEAT_MS, () => writer.comment('keep-alive'));
    }
  } finally {
    signal.removeEventListener('abort', stopWaiting);
    unsubscribe();
  }
}

async function readChanges({ feed, isStillAdmitted }: Source, cursor: number): Promise<FeedChanges | null | 'away'> {
  try {
    if (isStillAdmitted !== null && !(await isStillAdmitted())) return null;
    return await feed.read(cursor);
  } catch (error) {
    if (error instanceof HeddleError && error.retryable) return 'away';
    throw error;
  }
}

/** A notification that is not lost if it arrives before a wait. */
class Bell {
  #rung = false;
  #wake: (() => void) | null = null;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Resolves at the next ring, at once if one came since the last wait; else after `ms`, calling `silent`. */
  async heard(clock: Clock, ms: number, silent: () => void): Promise<void> {
    if (!this.#rung) {
      await new Promise<void>((resolve) => {
        const cancel = clock.after(ms, () => {
          silent();
          resolve();
        });
        this.#wake = () => {
          cancel();
          resolve();
        };
      });
      this.#wake = null;
    }
    this.#rung = false;
  }
}
