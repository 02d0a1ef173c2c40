import type { RemoteCode } from '../protocol/codes.ts';
import type { Ingress, TaskProgress } from '../protocol/messages.ts';
import type { AcceptedRecord } from './journal/records.ts';
import type { StoredBytes } from './stored-bytes.ts';

/**
 * `waiting`: for a worker, its code or the journal. `running`: a process has it. `ending`: how it ended is known, and not
 * durable yet, so nobody is told. `over`: its outcome is kept. `acknowledged`: only its key is.
 */
export type TaskState = 'waiting' | 'running' | 'ending' | 'over' | 'acknowledged' | 'gone';

export interface TaskOutcome {
  readonly code: RemoteCode | null;
  readonly at_ms: number;
  readonly payload: StoredBytes;
}

/** What the records of a task take without arguments and outcome. */
const RECORDS_BYTES = 512;

/** A task in the registry of clients. */
export class TaskEntry {
  readonly accepted: AcceptedRecord;
  readonly args: StoredBytes;
  /** Resolves when the task is durable; rejects where it was refused after all. */
  admitted: Promise<void> = Promise.resolve();
  state: TaskState = 'waiting';
  starts = 0;
  mayRepeat = false;
  cancelRequested = false;
  outcome: TaskOutcome | null = null;
  /** Whether the outcome was handed to a listener for its caller. */
  delivered = false;
  progress: TaskProgress | null = null;
  /** When the task was accepted and when its outcome was known, monotonic: for durations; null after a restart. */
  acceptedAt: number | null = null;
  duration_ms: number | null = null;
  /** When what is left of it may be forgotten, milliseconds since the epoch. */
  expiresAtMs = Number.POSITIVE_INFINITY;
  /** What the registry counted for it last. */
  countedBytes = 0;
  /** The file in which its first record stands. */
  segment = -1;
  /** Ends its resolution or its run. */
  stop: AbortController | null = null;
  #overWatchers: Set<() => void> | null = null;
  #progressWatchers: Set<() => void> | null = null;

  constructor(accepted: AcceptedRecord, args: StoredBytes) {
    this.accepted = accepted;
    this.args = args;
  }

  get id(): string {
    return this.accepted.id;
  }

  get client(): string {
    return this.accepted.client;
  }

  get ingress(): Ingress {
    return this.accepted.ingress;
  }

  get isOver(): boolean {
    return this.state === 'over' || this.state === 'acknowledged' || this.state === 'gone';
  }

  /** Bytes that it needs in the journal, roughly. */
  get journalBytes(): number {
    if (this.state === 'acknowledged') return RECORDS_BYTES;
    return RECORDS_BYTES + (this.outcome === null ? this.args.location.length : this.outcome.payload.location.length);
  }

  /** Calls `run` once the task is over; returns how to stop that. */
  onOver(run: () => void): () => void {
    const watchers = (this.#overWatchers ??= new Set());
    watchers.add(run);
    return () => void watchers.delete(run);
  }

  /** Calls `run` each time the event tells its progress; returns how to stop that. */
  onProgress(run: () => void): () => void {
    const watchers = (this.#progressWatchers ??= new Set());
    watchers.add(run);
    return () => void watchers.delete(run);
  }

  tellOver(): void {
    const watchers = this.#overWatchers;
    this.#overWatchers = null;
    this.#progressWatchers = null;
    if (watchers !== null) for (const run of watchers) run();
  }

  tellProgress(): void {
    if (this.#progressWatchers !== null) for (const run of this.#progressWatchers) run();
  }
}
