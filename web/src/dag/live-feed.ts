import { ApiError, getBatch, getDag } from '../api/client.ts';
import { readEventStream } from '../api/event-stream.ts';
import type { ServerEvent } from '../api/event-parser.ts';
import type { ChangeEvent } from '../api/wire.ts';
import type { TaskStore } from './task-store.ts';

const BACKOFF_FIRST_MS = 1000;
const BACKOFF_MAX_MS = 15_000;
/** How long the first read waits for the stream to open, so that no change falls between the two. */
const STREAM_HEAD_START_MS = 250;
export const REFRESH_INTERVAL_MS = 5000;

export type FeedPhase =
  | { name: 'loading' }
  | { name: 'live' }
  /** Every task is over; nothing more will come unless one is retried. */
  | { name: 'ended' }
  /** The server offers no stream: the page asks every few seconds instead. */
  | { name: 'polling' }
  | { name: 'reconnecting'; error: string; attempt: number; retryAtMs: number }
  /** Trying again will not help. */
  | { name: 'failed'; error: ApiError };

export interface FeedState {
  phase: FeedPhase;
  /** When the page last heard from the server; null before the first answer. */
  heardAtMs: number | null;
}

/** What one connection has come to so far; closing it ends its stream. */
class Connection {
  readonly opening = Promise.withResolvers<boolean>();
  readonly signal: AbortSignal;
  live = false;
  /** Whether the batch was read whole. */
  read = false;
  ended = false;
  private readonly closed = new AbortController();

  constructor(stopped: AbortSignal) {
    this.signal = AbortSignal.any([stopped, this.closed.signal]);
  }

  close(): void {
    this.closed.abort();
  }
}

/** Keeps a store current: one whole read, then change events; reconnects with growing pauses and reads anew each time. */
export class LiveFeed {
  private readonly batchId: string;
  private readonly store: TaskStore;
  private readonly listeners = new Set<() => void>();
  private stopped = new AbortController();
  private wake: (() => void) | null = null;
  private current: FeedState = { phase: { name: 'loading' }, heardAtMs: null };
  private refreshing: { signal: AbortSignal; again: boolean; done: Promise<void> } | null = null;
  private resting = false;

  constructor(batchId: string, store: TaskStore) {
    this.batchId = batchId;
    this.store = store;
  }

  readonly state = (): FeedState => this.current;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  start(): void {
    this.stopped = new AbortController();
    this.setPhase({ name: 'loading' });
    void this.run(this.stopped.signal);
  }

  stop(): void {
    this.stopped.abort();
    this.wake?.();
  }

  /** Lets go of the stream for a while. */
  rest(): void {
    this.stop();
    this.resting = true;
  }

  /** Goes on after a rest, with a read of all that happened meanwhile. */
  rouse(): void {
    if (!this.resting) return;
    this.resting = false;
    const { name } = this.current.phase;
    if (name !== 'ended' && name !== 'failed') this.start();
  }

  /** Ends the pause before the next try. */
  retryNow(): void {
    this.wake?.();
  }

  /** Listens again to a batch that had ended, after an operator re-opened one of its tasks. */
  reopen(): void {
    if (this.current.phase.name !== 'ended') return;
    this.stop();
    this.start();
  }

  /** Reads the whole batch now; calls that come meanwhile share one further read. */
  refresh(): Promise<void> {
    const { signal } = this.stopped;
    const running = this.refreshing;
    // A read that a stop broke off is nothing to wait for.
    if (running !== null && !running.signal.aborted) {
      running.again = true;
      return running.done;
    }
    const refreshing = { signal, again: false, done: this.readAll(signal) };
    refreshing.done = refreshing.done.finally(() => {
      if (this.refreshing === refreshing) this.refreshing = null;
      if (refreshing.again && !signal.aborted) void this.refresh().catch(() => undefined);
    });
    this.refreshing = refreshing;
    return refreshing.done;
  }

  private async readAll(signal: AbortSignal): Promise<void> {
    const dag = await getDag(this.batchId, signal);
    // The batch's own record only adds its name: without it the graph is still worth showing.
    const batch = dag.batch ?? (await getBatch(this.batchId, signal).catch(() => null));
    if (batch !== null) this.store.batch = batch;
    this.store.replace(dag);
    this.heard();
  }

  private async run(signal: AbortSignal): Promise<void> {
    let attempt = 0;
    let offered = true;
    for (;;) {
      const connection = new Connection(signal);
      try {
        await (offered ? this.listen(connection) : this.poll(connection));
        if (connection.ended || this.store.finished) {
          this.setPhase({ name: 'ended' });
          return;
        }
        if (!offered) continue;
        throw new ApiError(0, 'The server closed the stream');
      } catch (error) {
        if (signal.aborted) return;
        const failure = error instanceof ApiError ? error : new ApiError(0, String(error));
        attempt = connection.live ? 1 : attempt + 1;
        if (failure.transient) await this.pause(failure, attempt, signal);
        else if (offered && connection.read && failure.status !== 401) offered = false;
        else {
          this.setPhase({ name: 'failed', error: failure });
          return;
        }
      } finally {
        connection.close();
      }
    }
  }

  /** One connection, from its opening to its end. */
  private async listen(connection: Connection): Promise<void> {
    const { opening, signal } = connection;
    let reading: Promise<void> | null = null;
    const onOpen = (): void => {
      connection.live = true;
      // Changes between a read that came first and the opening would be lost: read again.
      if (reading !== null) reading = this.refresh();
      opening.resolve(true);
    };
    const onEvent = (event: ServerEvent): void => {
      connection.ended ||= event.event === 'end';
      this.take(event);
    };
    const path = `/v1/batches/${encodeURIComponent(this.batchId)}/events`;
    const stream = readEventStream(path, { onOpen, onEvent }, signal);
    stream.catch(() => opening.resolve(false));
    await Promise.race([opening.promise, elapse(STREAM_HEAD_START_MS, signal)]);
    reading ??= this.refresh();
    await reading;
    connection.read = true;
    if (await opening.promise) {
      await reading;
      if (!signal.aborted) this.setPhase({ name: 'live' });
    }
    await stream;
    if (connection.ended) await this.refresh();
  }

  /** One turn of asking, where the server offers no stream. */
  private async poll(connection: Connection): Promise<void> {
    await this.refresh();
    connection.live = true;
    if (connection.signal.aborted) return;
    this.setPhase({ name: 'polling' });
    await elapse(REFRESH_INTERVAL_MS, connection.signal);
  }

  private take(event: ServerEvent): void {
    this.heard();
    if (event.event !== 'change' || event.data === '') return;
    const change = JSON.parse(event.data) as ChangeEvent;
    if (change.batch) this.store.batch = { ...this.store.batch, ...change.batch };
    if (!this.store.loaded || !this.store.apply(change.tasks)) void this.refresh().catch(() => undefined);
  }

  private async pause(error: ApiError, attempt: number, signal: AbortSignal): Promise<void> {
    const full = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** (attempt - 1));
    const delay = full * (0.75 + Math.random() / 4);
    this.setPhase({ name: 'reconnecting', error: error.message, attempt, retryAtMs: Date.now() + delay });
    const woken = new AbortController();
    this.wake = () => woken.abort();
    await elapse(delay, AbortSignal.any([signal, woken.signal]));
    this.wake = null;
  }

  private heard(): void {
    this.current = { ...this.current, heardAtMs: Date.now() };
  }

  private setPhase(phase: FeedPhase): void {
    this.current = { ...this.current, phase };
    for (const listener of this.listeners) listener();
  }
}

function elapse(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
