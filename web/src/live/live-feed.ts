import { ApiError } from '../api/client.ts';
import { readEventStream } from '../api/event-stream.ts';
import type { ServerEvent } from '../api/event-parser.ts';

const BACKOFF_FIRST_MS = 1000;
const BACKOFF_MAX_MS = 15_000;
/** How long the first read waits for the stream to open, so that no change between the two is missed. */
const STREAM_HEAD_START_MS = 250;
export const REFRESH_INTERVAL_MS = 5000;
/** Maximum share of time for reads triggered by events: a large tree is not read all day long. */
const REREAD_SHARE = 0.2;
const REREAD_GAP_MIN_MS = 500;

/**
 * How far streams look back, milliseconds. Events are numbered by the database's clock; a read covers changes up to the
 * latest that it contains, and transactions open at that time may report earlier changes.
 */
const OVERLAP_MS = 60_000;

/** Where a stream continues after a read with a latest change of this time; null: it sends everything. */
export function resumePoint(latestMs: number): string | null {
  return latestMs <= OVERLAP_MS ? null : String(latestMs - OVERLAP_MS);
}

/** Source of a feed: its change events, full reads, and how to apply a change. */
export interface FeedSource {
  readonly eventsPath: string;
  /** Whether a full read has completed. */
  readonly loaded: boolean;
  /** Whether no more changes will follow. */
  readonly finished: boolean;
  /** When it ended, as far as it is known; null: it has not. */
  readonly endedAt: string | null;
  /**
   * Whether a read returns the position at which the event stream continues, so that the stream need not send
   * everything.
   */
  readonly resumable: boolean;
  /** That position, after a read; null: the stream sends everything. */
  readonly lastEventId: string | null;
  read(signal: AbortSignal): Promise<void>;
  /** Applies the data of a `change`; returns false if only a full read can show the current state. */
  take(change: unknown): boolean;
}

export type FeedPhase =
  | { name: 'loading' }
  | { name: 'live' }
  /** Everything has ended; nothing will change unless something is retried. */
  | { name: 'ended' }
  /** The server offers no stream: the console polls every few seconds instead. */
  | { name: 'polling' }
  | { name: 'reconnecting'; error: string; attempt: number; retryAtMs: number }
  /** A retry will not help. */
  | { name: 'failed'; error: ApiError };

export interface FeedState {
  phase: FeedPhase;
  /** Time of the last response; null before the first one. */
  heardAtMs: number | null;
}

/** Progress of one connection; closing it ends its stream. */
class Connection {
  readonly opening = Promise.withResolvers<boolean>();
  readonly signal: AbortSignal;
  live = false;
  /** Whether a full read has completed. */
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

/** Keeps a source current: one full read, then change events; reconnects with backoff and rereads each time. */
export class LiveFeed {
  private readonly source: FeedSource;
  private readonly listeners = new Set<() => void>();
  private stopped = new AbortController();
  private wake: (() => void) | null = null;
  private current: FeedState = { phase: { name: 'loading' }, heardAtMs: null };
  private refreshing: { signal: AbortSignal; again: boolean; done: Promise<void> } | null = null;
  private resting = false;
  private reread: ReturnType<typeof setTimeout> | null = null;
  private lastRead = { endedAtMs: 0, tookMs: 0 };

  constructor(source: FeedSource) {
    this.source = source;
  }

  readonly state = (): FeedState => this.current;

  /** When its source ended, as far as it is known. */
  get endedAt(): string | null {
    return this.source.endedAt;
  }

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
    if (this.reread !== null) clearTimeout(this.reread);
    this.reread = null;
  }

  /** Closes the stream for a while. */
  rest(): void {
    this.stop();
    this.resting = true;
  }

  /** Resumes after a rest, with a full read. */
  rouse(): void {
    if (!this.resting) return;
    this.resting = false;
    const { name } = this.current.phase;
    if (name !== 'ended' && name !== 'failed') this.start();
  }

  /** Ends the wait before the next try. */
  retryNow(): void {
    this.wake?.();
  }

  /** Reopens the stream of something that had ended, after an operator retried one of its tasks. */
  reopen(): void {
    if (this.current.phase.name !== 'ended') return;
    this.stop();
    this.start();
  }

  /** Starts a full read now; concurrent calls share one further read. */
  refresh(): Promise<void> {
    const { signal } = this.stopped;
    const running = this.refreshing;
    // A read aborted by a stop need not be awaited.
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
    const startedAtMs = performance.now();
    await this.source.read(signal);
    const endedAtMs = performance.now();
    this.lastRead = { endedAtMs, tookMs: endedAtMs - startedAtMs };
    this.heard();
  }

  /** Schedules a full read: at once, or after a pause in proportion to the duration of the last read. */
  private refreshSoon(): void {
    if (this.reread !== null) return;
    const { endedAtMs, tookMs } = this.lastRead;
    const gap = Math.max(REREAD_GAP_MIN_MS, tookMs * (1 / REREAD_SHARE - 1));
    this.reread = setTimeout(
      () => {
        this.reread = null;
        if (!this.stopped.signal.aborted) void this.refresh().catch(() => undefined);
      },
      Math.max(0, endedAtMs + gap - performance.now()),
    );
  }

  private async run(signal: AbortSignal): Promise<void> {
    let attempt = 0;
    let offered = true;
    for (;;) {
      const connection = new Connection(signal);
      try {
        await (offered ? this.listen(connection) : this.poll(connection));
        if (connection.ended || this.source.finished) {
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

  /** One connection, from opening to end. */
  private async listen(connection: Connection): Promise<void> {
    const { opening, signal } = connection;
    // After a read with a stream position, nothing is missed and nothing need be reread.
    if (this.source.resumable) await this.refresh();
    const lastEventId = this.source.resumable ? this.source.lastEventId : null;
    let reading: Promise<void> | null = lastEventId === null ? null : Promise.resolve();
    const onOpen = (): void => {
      connection.live = true;
      // Changes between an earlier read and the opening would be missed: read again.
      if (reading !== null && lastEventId === null) reading = this.refresh();
      opening.resolve(true);
    };
    const onEvent = (event: ServerEvent): void => {
      connection.ended ||= event.event === 'end';
      this.take(event);
    };
    const stream = readEventStream(this.source.eventsPath, { onOpen, onEvent }, { signal, lastEventId });
    stream.catch(() => opening.resolve(false));
    if (lastEventId === null) await Promise.race([opening.promise, elapse(STREAM_HEAD_START_MS, signal)]);
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

  /** One poll, if the server offers no stream. */
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
    if (!this.source.take(JSON.parse(event.data)) || !this.source.loaded) this.refreshSoon();
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
