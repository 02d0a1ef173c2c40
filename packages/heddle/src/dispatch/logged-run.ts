import type { Logger } from '@heddle/base/log';
import type { SlabLog } from '@heddle/base/log-slab';
import { RunSignal } from './run-signal.ts';
import type { CheckedTask } from './task-control.ts';
import { taskLogger } from './task-logger.ts';
import type { TaskLog, TaskLogs } from './task-logs.ts';

/** A run whose handler logs for its task. Everything is created on demand, since most handlers log nothing. */
export abstract class LoggedRun extends RunSignal {
  readonly #workerLog: Logger;
  readonly #logs: TaskLogs | null;
  #log: Logger | undefined;
  #taskLog: TaskLog | undefined;
  #output: LoggedRun['output'] | undefined;

  /** @param logs null: lines go to the log of this process only */
  constructor(log: Logger, logs: TaskLogs | null) {
    super();
    this.#workerLog = log;
    this.#logs = logs;
  }

  abstract get checked(): CheckedTask;

  /** Kind of the task. */
  abstract get kind(): string;

  get log(): Logger {
    if (this.#log !== undefined) return this.#log;
    const own = this.#workerLog.child({ ...this.checked, kind: this.kind });
    return (this.#log = this.#logs === null ? own : taskLogger(own, () => this.#lines!));
  }

  /** A separate function, so that handlers may destructure their context. */
  get output(): (stream: 'stdout' | 'stderr', text: string) => void {
    return (this.#output ??= (stream, text) => {
      if (this.#logs === null) this.log.info({ stream, text }, 'output');
      else this.#lines!.add(stream, null, text);
    });
  }

  get #lines(): TaskLog | undefined {
    return (this.#taskLog ??= this.#logs?.open(this.checked));
  }

  /** Returns what was logged, for the report of this attempt, if that is all and little; else null: `closeLog` stores it. */
  takeLog(): SlabLog | null {
    return this.#taskLog?.take() ?? null;
  }

  /** Resolves when everything that was logged is stored; undefined if nothing was. */
  closeLog(): Promise<void> | undefined {
    return this.#taskLog?.close();
  }
}
