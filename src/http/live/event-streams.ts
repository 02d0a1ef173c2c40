import type { ServerResponse } from 'node:http';

import { HeddleError } from '../../domain/errors.ts';
import type { Task } from '../../domain/task.ts';
import type { Engine } from '../../engine/port.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/log.ts';
import { changesToWire } from '../wire/batch.ts';
import { EventWriter } from './event-writer.ts';

/** Least time between two changes that one stream tells: four a second. */
const PACE_MS = 250;
/** A comment this often keeps proxies from closing a quiet stream; what was missed is looked for then, too. */
const HEARTBEAT_MS = 5000;
const DATABASE_AWAY_MS = 1000;
/** Tasks of one event; a large graph comes in several. */
const TASKS_PER_EVENT = 1000;

const STREAMS_DEFAULT = 256;

interface Dependencies {
  engine: Engine;
  clock: Clock;
  log: Logger;
}

/** The open event streams: bounded in number, ended together when the server stops. */
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

  /** Throws where no further stream is taken. */
  requireRoom(): void {
    if (this.#closing) throw new HeddleError('SHUTTING_DOWN');
    if (this.#open.size < this.#max) return;
    throw new HeddleError('TOO_MANY_REQUESTS', `There are ${this.#max} open event streams already`, {
      details: ['streams: all are taken; poll GET /dag/{batch_id} meanwhile'],
      retryAfterSecs: 5,
    });
  }

  /** Tells the changes of a batch from `cursor` on, until all its tasks have ended or the client is gone. */
  open(batchId: string, cursor: number, response: ServerResponse): void {
    const stop = new AbortController();
    response.once('close', () => stop.abort());
    const writer = new EventWriter(response, stop.signal);
    const told = tellChanges(this.#dependencies, batchId, cursor, writer, stop.signal)
      .catch((error: unknown) => {
        this.#dependencies.log.error({ err: error, batch_id: batchId }, 'an event stream failed');
      })
      .finally(() => {
        this.#open.delete(stop);
        response.end();
      });
    this.#open.set(stop, told);
  }

  async close(): Promise<void> {
    this.#closing = true;
    for (const stop of this.#open.keys()) stop.abort();
    await Promise.all(this.#open.values());
  }
}

async function tellChanges(
  { engine, clock }: Dependencies,
  batchId: string,
  from: number,
  writer: EventWriter,
  signal: AbortSignal,
): Promise<void> {
  const bell = new Bell();
  const unsubscribe = engine.onWorkflowChange(batchId, () => bell.ring());
  const stopWaiting = (): void => bell.ring();
  signal.addEventListener('abort', stopWaiting);
  try {
    const news = new News();
    let cursor = from;
    let first = true;
    while (!signal.aborted) {
      const changes = await readChanges(engine, batchId, cursor);
      if (changes === null) return;
      if (changes === 'away') {
        writer.comment('the database is away');
        await clock.sleep(DATABASE_AWAY_MS, signal);
        continue;
      }
      cursor = changes.cursor;
      const ended = changes.workflow.remaining === 0;
      const unseen = changes.tasks.filter((task) => news.isNew(task));
      if (first || ended || unseen.length > 0) {
        const { batch, tasks } = changesToWire({ ...changes, tasks: unseen });
        for (let at = 0; at === 0 || at < tasks.length; at += TASKS_PER_EVENT) {
          const last = at + TASKS_PER_EVENT >= tasks.length;
          await writer.event('change', { batch, tasks: tasks.slice(at, at + TASKS_PER_EVENT) }, last ? cursor : null);
        }
        if (ended) {
          await writer.event('end', { batch, tasks: [] }, cursor);
          return;
        }
      }
      first = false;
      // A slow client is written to no faster than it reads: `event` waited until its socket had room.
      await clock.sleep(PACE_MS, signal);
      await bell.heard(clock, HEARTBEAT_MS, () => writer.comment('still here'));
    }
  } finally {
    signal.removeEventListener('abort', stopWaiting);
    unsubscribe();
  }
}

async function readChanges(engine: Engine, batchId: string, cursor: number) {
  try {
    return await engine.dagChanges(batchId, cursor);
  } catch (error) {
    if (error instanceof HeddleError && error.retryable) return 'away';
    throw error;
  }
}

/** What a stream has told already: the engine looks back a little each time, and repeats itself. */
class News {
  readonly #told = new Map<string, string>();

  isNew(task: Task): boolean {
    const { id, state, attempt, updated_at, success_count, failure_count } = task;
    const version = `${state} ${attempt} ${updated_at} ${success_count} ${failure_count}`;
    if (this.#told.get(id) === version) return false;
    this.#told.set(id, version);
    return true;
  }
}

/** A wake-up that is not lost when it comes while nobody waits. */
class Bell {
  #rung = false;
  #wake: (() => void) | null = null;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Resolves at the next ring, at once if one came since the last time; else after `ms`, with `silent` called. */
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
