import type { Coalescer } from '@heddle/base/coalescer';
import type { Logger } from '@heddle/base/log';
import type { ClaimedTask, ProgressReport, ProgressResult } from '@heddle/core/engine/port';
import type { TaskContext } from './executor-registry.ts';
import { LoggedRun } from './logged-run.ts';
import type { CheckedTask } from './task-control.ts';
import type { TaskLogs } from './task-logs.ts';

/** What the runs of one worker share. */
export interface RunEnvironment {
  readonly log: Logger;
  readonly progress: Coalescer<ProgressReport, ProgressResult>;
  readonly logs: TaskLogs;
}

/** The context of one running task. Most tasks use little of it, so everything is created on demand. */
export class TaskRun extends LoggedRun implements TaskContext {
  readonly task: ClaimedTask;
  readonly #environment: RunEnvironment;

  constructor(task: ClaimedTask, environment: RunEnvironment) {
    super(environment.log, environment.logs);
    this.task = task;
    this.#environment = environment;
  }

  get checked(): CheckedTask {
    return { task_id: this.task.id, attempt: this.task.attempt };
  }

  get kind(): string {
    return this.task.kind;
  }

  get traceparent(): string | null {
    return this.task.traceparent ?? null;
  }

  /** A separate function, so that executors may destructure the context. */
  get progress(): TaskContext['progress'] {
    return (newSuccess, newFailures) => this.#count(newSuccess, newFailures);
  }

  #count(newSuccess: number, newFailures: number): Promise<ProgressResult> {
    const { id: task_id, attempt } = this.task;
    const report = { task_id, attempt, new_success: newSuccess, new_failures: newFailures, idempotency_key: null };
    const counted = this.#environment.progress.add(report).then((result) => {
      if (result === 'terminal' || result === 'not_found') this.abort('the task has ended');
      return result;
    });
    // An executor that does not await its progress must not crash the process.
    counted.catch((error: unknown) => this.log.warn({ err: error }, 'could not count progress'));
    return counted;
  }
}
