import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { onNextTurn } from '@heddle/base/turn';
import { FrameBuffer } from './frames.ts';
import type { JournalRecord, Location } from './records.ts';
import type { Segments } from './segments.ts';

export interface JournalOptions {
  clock: Clock;
  log: Logger;
}

/** An appended record: the future location of its body, and when it is durable. */
export interface Appended {
  readonly location: Location;
  /**
   * Rejects for an `accepted` record that could not be written, which then counts as never appended. All other records
   * are retried until they are durable or the journal is closed.
   */
  readonly durable: Promise<void>;
}

interface Entry {
  readonly record: JournalRecord;
  readonly body: Uint8Array | null;
  readonly location: Location;
}

interface Deferred {
  readonly promise: Promise<void>;
  resolve(): void;
  reject(error: unknown): void;
}

/** Records written by one commit. */
interface Round {
  readonly entries: Entry[];
  readonly admission: Deferred;
  /** Includes those of failed earlier commits. */
  readonly settled: Deferred[];
}

const RETRY_MS = 1_000;

/**
 * Append-only journal of tasks. Records appended in one turn of the event loop, or during a commit, are written
 * together.
 */
export class Journal {
  readonly #options: JournalOptions;
  readonly #segments: Segments;
  readonly #frames = new FrameBuffer();
  #round: Round | null = null;
  #committing: Promise<void> | null = null;
  #failure: Error | null = null;
  #closed = false;
  #cancelRetry: (() => void) | null = null;

  /** @param segments as found by recovery */
  constructor(options: JournalOptions, segments: Segments) {
    this.#options = options;
    this.#segments = segments;
  }

  /** Returns the reason why writes fail; null if they succeed. */
  get failure(): Error | null {
    return this.#failure;
  }

  get segments(): Segments {
    return this.#segments;
  }

  /** @param body is not copied: it must not change until it is durable */
  append(record: JournalRecord, body: Uint8Array | null = null): Appended {
    const location: Location = { segment: -1, at: -1, length: body?.length ?? 0 };
    if (this.#closed) return { location, durable: new Promise(() => undefined) };
    const round = (this.#round ??= newRound());
    round.entries.push({ record, body, location });
    const durable = record.type === 'accepted' ? round.admission.promise : round.settled[0]!.promise;
    if (this.#committing === null && this.#cancelRetry === null && round.entries.length === 1) {
      onNextTurn(() => this.#start());
    }
    return { location, durable };
  }

  /** Reads the body of a durable record. */
  read({ segment, at, length }: Location): Promise<Buffer> {
    return this.#segments.read(segment, at, length);
  }

  /** Resolves when everything appended is durable, or after one failed attempt. */
  async flush(): Promise<void> {
    while (this.#failure === null && (this.#committing !== null || this.#round !== null)) {
      this.#start();
      await this.#committing;
    }
  }

  /** Writes the remaining records once. Promises of records that never become durable stay pending. */
  async close(): Promise<void> {
    this.#cancelRetry?.();
    this.#cancelRetry = null;
    this.#start();
    this.#closed = true;
    while (this.#committing !== null) await this.#committing;
    await this.#segments.close();
  }

  #start(): void {
    if (this.#committing !== null || this.#round === null || this.#closed) return;
    this.#committing = this.#commitAll();
  }

  async #commitAll(): Promise<void> {
    while (this.#round !== null) {
      const round = this.#round;
      this.#round = null;
      try {
        await this.#write(round.entries);
      } catch (error) {
        await this.#fail(round, error as Error);
        break;
      }
      if (this.#failure !== null) this.#options.log.info({}, 'journal writes succeed again');
      this.#failure = null;
      round.admission.resolve();
      for (const settled of round.settled) settled.resolve();
      // Records appended by the handlers of these promises go into the next commit.
      await Promise.resolve();
    }
    // Cleared in the same turn as the check of the round, so that later appends start a new commit.
    this.#committing = null;
  }

  async #write(entries: readonly Entry[]): Promise<void> {
    const frames = this.#frames;
    frames.clear();
    const segment = await this.#segments.current();
    for (const { record, body, location } of entries) {
      location.at = segment.size + frames.add(record, body);
    }
    await segment.write(frames.bytes());
    for (const { record, location } of entries) {
      location.segment = segment.number;
      if (record.type === 'accepted' || record.type === 'carried') this.#segments.hold(location.segment);
    }
  }

  /** Rejects the round's new tasks and keeps its other records for a retry. */
  async #fail(round: Round, error: Error): Promise<void> {
    this.#options.log.error({ err: error }, 'journal write failed; rejecting new tasks until it succeeds');
    this.#failure = error;
    await this.#segments.abandon();
    const refused = round.entries.flatMap(({ record }) => (record.type === 'accepted' ? [record.id] : []));
    const rest = round.entries.filter(({ record }) => record.type !== 'accepted');
    // Some of their bytes may be on disk anyway.
    if (refused.length > 0)
      rest.push({ record: { type: 'removed', ids: refused }, body: null, location: unsetLocation() });
    round.admission.reject(error);
    const next = (this.#round ??= newRound());
    next.entries.unshift(...rest);
    next.settled.push(...round.settled);
    if (this.#closed) return;
    this.#cancelRetry = this.#options.clock.after(RETRY_MS, () => {
      this.#cancelRetry = null;
      this.#start();
    });
  }
}

function unsetLocation(): Location {
  return { segment: -1, at: -1, length: 0 };
}

function newRound(): Round {
  return { entries: [], admission: deferred(), settled: [deferred()] };
}

function deferred(): Deferred {
  const made: Deferred = Promise.withResolvers();
  // Callers may ignore the promise.
  made.promise.catch(() => undefined);
  return made;
}
