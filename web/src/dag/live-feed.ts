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
  | { name: 'polling'; reason: string }
  | { name: 'reconnecting'; error: string; attempt: number; retryAtMs: number }
  /** Trying again will not help. */
  | { name: 'failed'; error: ApiError };

export interface FeedState {
  phase: FeedPhase;
  /** When the page last heard from the server; null before the first answer. */
  heardAtMs: number | null;
}

/** Keeps a store current: one whole read, then change events; reconnects with growing pauses and reads anew each time. */
export class LiveFeed {
  private readonly batchId: string;
  private readonly store: TaskStore;
  private readonly listeners = new Set<() => void>();
  private stopped = new AbortController();
  private wake: (() => void) | null = null;
  private current: FeedState = { phase: { name: 'loading' }, heardAtMs: null };
  private refreshing: Promise<void> | null = null;
  private refreshAgain = false;

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
    if (this.refreshing !== null) {
      this.refreshAgain = true;
      return this.refreshing;
    }
    const signal = this.stopped.signal;
    this.refreshing = this.readAll(signal).finally(() => {
      this.refreshing = null;
      if (this.refreshAgain && !signal.aborted) {
        this.refreshAgain = false;
        this.refresh().catch(() => undefined);
      }
    });
    return this.refreshing;
  }

  private async readAll(signal: AbortSignal): Promise<void> {
    // The batch's own record only adds its name: without it the graph is still worth showing.
    const batch = getBatch(this.batchId, signal).catch(() => null);
    const dag = await getDag(this.batchId, signal);
    this.store.replace(dag);
    const record = await batch;
    if (record !== null) this.store.setBatch(record);
    this.heard();
  }

  private async run(signal: AbortSignal): Promise<void> {
    let attempt = 0;
    while (!signal.aborted) {
      try {
        const outcome = await this.session(signal, () => (attempt = 0));
        if (outcome === 'ended') return this.setPhase({ name: 'ended' });
        throw new ApiError(0, 'The server closed the stream');
      } catch (error) {
        if (signal.aborted) return;
        const failure = error instanceof ApiError ? error : new ApiError(0, String(error));
        if (!failure.transient) return this.giveUp(failure);
        attempt += 1;
        await this.pause(failure, attempt, signal);
      }
    }
  }

  /** One connection, from its opening to its end. */
  private async session(signal: AbortSignal, onLive: () => void): Promise<'ended' | 'closed'> {
    let ended = false;
    const opened = Promise.withResolvers<undefined>();
    let read: Promise<void> | null = null;
    const onOpen = (): void => {
      // Changes between a read that came first and the opening would be lost: read again.
      if (read !== null) read = this.refresh();
      opened.resolve(undefined);
    };
    const onEvent = (event: ServerEvent): void => {
      ended ||= event.event === 'end';
      this.take(event);
    };
    const path = `/v1/batches/${encodeURIComponent(this.batchId)}/events`;
    const stream = readEventStream(path, { onOpen, onEvent }, signal);
    stream.catch(() => opened.resolve(undefined));
    await Promise.race([opened.promise, elapse(STREAM_HEAD_START_MS, signal)]);
    read ??= this.refresh();
    await read;
    onLive();
    this.setPhase({ name: 'live' });
    await stream;
    if (ended) await this.refresh();
    return ended || this.store.finished ? 'ended' : 'closed';
  }

  private take(event: ServerEvent): void {
    this.heard();
    if (event.event !== 'change' || event.data === '') return;
    const change = JSON.parse(event.data) as ChangeEvent;
    if (change.batch !== undefined && change.batch !== null)
      this.store.batch = { ...this.store.batch, ...change.batch };
    if (!this.store.loaded || !this.store.apply(change.tasks)) this.refresh().catch(() => undefined);
  }

  private giveUp(error: ApiError): void {
    if (this.store.loaded && error.status !== 401) this.setPhase({ name: 'polling', reason: error.message });
    else this.setPhase({ name: 'failed', error });
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
