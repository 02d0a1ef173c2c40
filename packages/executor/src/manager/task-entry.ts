import type { RemoteCode } from '../protocol/codes.ts';
import type { Ingress, TaskProgress } from '../protocol/messages.ts';
import type { AcceptedRecord } from './journal/records.ts';
import type { StoredBytes } from './stored-bytes.ts';

/**
 * `waiting`: for a worker, its code or the journal. `running`: a process has it. `ending`: its outcome is known but not
 * yet durable or visible. `completed`: its outcome is stored. `acknowledged`: only its key is stored.
 */
export type TaskState = 'waiting' | 'running' | 'ending' | 'completed' | 'acknowledged' | 'gone';

export interface TaskOutcome {
  readonly code: RemoteCode | null;
  readonly at_ms: number;
  readonly payload: StoredBytes;
}

/** Approximate size of a task's records without arguments and outcome, bytes. */
const RECORDS_BYTES = 512;

/** A task in the client task registry. */
export class TaskEntry {
  readonly accepted: AcceptedRecord;
  readonly args: StoredBytes;
  /** Resolves when the task is durable; rejects if it was rejected after all. */
  admitted: Promise<void> = Promise.resolve();
  state: TaskState = 'waiting';
  starts = 0;
  mayRepeat = false;
  cancelRequested = false;
  outcome: TaskOutcome | null = null;
  /** Whether the outcome was passed to a listener for its caller. */
  delivered = false;
  progress: TaskProgress | null = null;
  /** Monotonic times of acceptance and outcome, for durations; null after a restart. */
  acceptedAt: number | null = null;
  duration_ms: number | null = null;
  /** Expiry of its remaining data, milliseconds since the epoch. */
  expiresAtMs = Number.POSITIVE_INFINITY;
  /** Bytes last counted for it by the registry. */
  countedBytes = 0;
  /** Number of the file that contains its first record. */
  segment = -1;
  /** Aborts its resolution or its run. */
  stop: AbortController | null = null;
  #completionWatchers: Set<() => void> | null = null;
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

  get isCompleted(): boolean {
    return this.state === 'completed' || this.state === 'acknowledged' || this.state === 'gone';
  }

  /** Approximate journal size of the task, bytes. */
  get journalBytes(): number {
    if (this.state === 'acknowledged') return RECORDS_BYTES;
    return RECORDS_BYTES + (this.outcome === null ? this.args.location.length : this.outcome.payload.location.length);
  }

  /** Calls `run` once the task has ended; returns a function that stops that. */
  onCompleted(run: () => void): () => void {
    const watchers = (this.#completionWatchers ??= new Set());
    watchers.add(run);
    return () => void watchers.delete(run);
  }

  /** Calls `run` for each progress report of the event; returns a function that stops that. */
  onProgress(run: () => void): () => void {
    const watchers = (this.#progressWatchers ??= new Set());
    watchers.add(run);
    return () => void watchers.delete(run);
  }

  notifyCompleted(): void {
    const watchers = this.#completionWatchers;
    this.#completionWatchers = null;
    this.#progressWatchers = null;
    if (watchers !== null) for (const run of watchers) run();
  }

  notifyProgress(): void {
    if (this.#progressWatchers !== null) for (const run of this.#progressWatchers) run();
  }
}
