import type { StartTaskMessage } from '@heddle/core/domain/message';
import type { ReceivedMessage } from '@heddle/core/queue/port';
import type { Logger } from '@heddle/base/log';
import type { KindTask } from '@heddle/kit';
import type { RunHost } from '../kind/run-kind.ts';
import { LoggedRun } from '../logged-run.ts';
import type { TaskLogs } from '../task-logs.ts';
import type { CheckedTask } from '../task-control.ts';

/**
 * Why the outcome of a run no longer matters: `unwanted` (the task has ended, or another attempt has begun),
 * `timed_out`, or `handed_back` (the worker stops, and another one runs it).
 */
export type Ending = 'unwanted' | 'timed_out' | 'handed_back';

/** What a worker gives to its attempts. */
export interface AttemptHost {
  readonly log: Logger;
  /** Null if this worker has no access to a server or a database. */
  readonly logs: TaskLogs | null;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** One attempt of a task in this worker: its message, and its run once it has started. */
export class Attempt extends LoggedRun implements RunHost {
  readonly start: StartTaskMessage;
  /** The deliveries of its message, newest last: they extend and settle it. */
  readonly receipts: string[];
  readonly receiveCount: number;
  readonly #now: () => number;
  #ending: Ending | undefined;
  /** Times of its last activity, its last heartbeat, and the last extension of its message's visibility. */
  activeAt: number;
  beatAt = 0;
  extendedAt: number;
  readonly receivedAt: number;
  newSuccess = 0;
  newFailures = 0;
  /** A heartbeat is being sent. */
  beating = false;
  /** Its end was reported, or its message released: its handler has no further effect. */
  settled = false;

  constructor(
    start: StartTaskMessage,
    { receipt, receive_count: receiveCount }: Pick<ReceivedMessage, 'receipt' | 'receive_count'>,
    { log, logs, now }: AttemptHost,
  ) {
    super(log, logs);
    this.start = start;
    this.receipts = [receipt];
    this.receiveCount = receiveCount;
    this.#now = now;
    this.receivedAt = now();
    this.activeAt = this.receivedAt;
    this.extendedAt = this.receivedAt;
  }

  get key(): string {
    return attemptKey(this.start.task.id, this.start.task.attempt);
  }

  get task(): KindTask {
    const { root_container_id, task } = this.start;
    // The root container's id is the workflow's.
    const workflow_id: string = root_container_id;
    const { id, kind, name, local_id, attempt, timeout_secs, input, parent_id: container_id } = task;
    return { id, kind, name, workflow_id, container_id, local_id, attempt, timeout_secs, input, runners: [] };
  }

  get checked(): CheckedTask {
    return { task_id: this.start.task.id, attempt: this.start.task.attempt };
  }

  get kind(): string {
    return this.start.task.kind;
  }

  get traceparent(): string | null {
    return this.start.traceparent ?? null;
  }

  /** Counted at once; the next heartbeat reports it to the manager. */
  get progress(): RunHost['progress'] {
    return (successes, failures) => {
      if (!isCount(successes) || !isCount(failures)) {
        return Promise.reject(new TypeError('progress: counts must be whole numbers of at least 0'));
      }
      this.newSuccess += successes;
      this.newFailures += failures;
      this.noteActive();
      return Promise.resolve();
    };
  }

  get ending(): Ending | undefined {
    return this.#ending;
  }

  /** Starts its handler and its timeout. */
  begin(): void {
    this.activeAt = this.#now();
  }

  /** Activity resets the timeout, unless it counts from the start. */
  noteActive(): void {
    if (this.start.task.timeout_basis !== 'start') this.activeAt = this.#now();
  }

  get timeoutReason(): string {
    const { timeout_secs, timeout_basis } = this.start.task;
    return timeout_basis === 'start'
      ? `it ran for longer than its timeout of ${timeout_secs} s`
      : `no progress for ${timeout_secs} s`;
  }

  /** Adds another delivery of the same attempt: its message is settled along with the first. */
  adopt(receipt: string): void {
    this.receipts.push(receipt);
    this.extendedAt = this.#now();
  }

  /** Decides its end, regardless of its handler, and aborts the handler's signal. The first decision counts. */
  end(ending: Ending, reason: string): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    this.abort(reason);
  }
}

export function attemptKey(taskId: string, attempt: number): string {
  return `${taskId}:${attempt}`;
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
