import type { StartTaskMessage } from '../../domain/message.ts';
import type { Logger } from '../../runtime/log.ts';
import type { KindTask } from '../../kinds/definition/context.ts';
import type { RunHost } from '../kind/run-kind.ts';

/**
 * Why a run's own end is of no interest any more: `unwanted` (the task is over, or another attempt of it has begun),
 * `timed_out`, or `handed_back` (the worker stops, and somebody else is to run it).
 */
export type Ending = 'unwanted' | 'timed_out' | 'handed_back';

/** One attempt of a task in this worker: its message, and, once it began, its run. */
export class Attempt implements RunHost {
  readonly start: StartTaskMessage;
  /** Of every delivery of its message, newest last: what extends and settles it. */
  readonly receipts: string[];
  readonly receiveCount: number;
  readonly #log: Logger;
  readonly #now: () => number;
  #abort: AbortController | undefined;
  #ownLog: Logger | undefined;
  #ending: Ending | undefined;
  #endingReason = '';
  /** When it was last seen to be alive by its own doing, when its worker last said so, when its message was last hidden. */
  activeAt: number;
  beatAt = 0;
  extendedAt: number;
  readonly receivedAt: number;
  newSuccess = 0;
  newFailures = 0;
  /** A heartbeat of it is on its way. */
  beating = false;
  /** Its end was told, or its message handed back: what its handler still does changes nothing. */
  settled = false;

  /** @param now monotonic milliseconds */
  constructor(start: StartTaskMessage, receipt: string, receiveCount: number, log: Logger, now: () => number) {
    this.start = start;
    this.receipts = [receipt];
    this.receiveCount = receiveCount;
    this.#log = log;
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

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#ending !== undefined) this.#abort.abort(new Error(this.#endingReason));
    }
    return this.#abort.signal;
  }

  /** Whether the handler listens to its signal. */
  get listens(): boolean {
    return this.#abort !== undefined && !this.#abort.signal.aborted;
  }

  get log(): Logger {
    const { id: task_id, kind, attempt } = this.start.task;
    return (this.#ownLog ??= this.#log.child({ task_id, kind, attempt }));
  }

  get traceparent(): string | null {
    return this.start.traceparent ?? null;
  }

  /** Counted at once; the manager learns of it with the next heartbeat. */
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

  /** Its handler starts, and with it the clock of its timeout. */
  begin(): void {
    this.activeAt = this.#now();
  }

  /** Activity sets the clock back, unless the timeout counts from the start. */
  noteActive(): void {
    if (this.start.task.timeout_basis !== 'start') this.activeAt = this.#now();
  }

  get timeoutReason(): string {
    const { timeout_secs, timeout_basis } = this.start.task;
    return timeout_basis === 'start'
      ? `it ran for longer than ${timeout_secs} s (its timeout)`
      : `no sign of progress for ${timeout_secs} s`;
  }

  /** Another delivery of the same attempt: its message is settled along with the first. */
  adopt(receipt: string): void {
    this.receipts.push(receipt);
    this.extendedAt = this.#now();
  }

  /** Decides how it ends, whatever its handler does, and tells the handler. The first decision holds. */
  end(ending: Ending, reason: string): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    this.#endingReason = reason;
    this.#abort?.abort(new Error(reason));
  }
}

export function attemptKey(taskId: string, attempt: number): string {
  return `${taskId}:${attempt}`;
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
