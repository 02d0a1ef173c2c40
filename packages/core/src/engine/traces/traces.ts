import { taskStateOf } from '@heddle/base/vocabulary/task-state';
import type { Logger } from '@heddle/base/log';
import type { Tracing } from '@heddle/base/trace';
import { attemptContext, beginsTrace, workflowContext, workflowSpanId } from '@heddle/base/work-spans';
import type { Database } from '../../store/database.ts';
import { findTracedWorkflows, type TracedAttempt, type TracedWorkflow } from '../../store/traces.ts';

/** End of an attempt as recorded in its span. */
export interface AttemptEnd {
  outcome: 'succeeded' | 'failed' | 'timed_out' | 'partially_failed' | 'canceled' | 'lost' | 'handed_back';
  reason?: string | undefined;
  /** Whether the task is retried. */
  retrying?: boolean;
}

export interface EndedAttempt {
  attempt: TracedAttempt;
  end: AttemptEnd;
}

/** Ends that are not failures of the attempt. */
const NO_FAILURE: ReadonlySet<AttemptEnd['outcome']> = new Set(['succeeded', 'canceled', 'handed_back'] as const);

/** Records spans of workflows and of their tasks' attempts; exists only while tracing is on. */
export class Traces {
  readonly tracing: Tracing;
  readonly #database: Database;
  readonly #log: Logger;

  constructor(tracing: Tracing, database: Database, log: Logger) {
    this.tracing = tracing;
    this.#database = database;
    this.#log = log;
  }

  /** Returns the context to store with a workflow: the submitter's, or that of a new trace. */
  submitted(workflowId: string, traceparent: string | null): string | null {
    return traceparent ?? this.tracing.newContext('workflow', workflowSpanId(workflowId));
  }

  /** Records the spans of ended attempts: from when they became ready, with their start as an event. */
  attemptsEnded(ended: readonly EndedAttempt[]): void {
    for (const { attempt, end } of ended) this.#recordAttempt(attempt, end);
  }

  #recordAttempt(attempt: TracedAttempt, { outcome, reason, retrying = false }: AttemptEnd): void {
    const { id, workflow_id, kind, traceparent, ready_ms, started_ms } = attempt;
    const context = attemptContext(this.tracing, traceparent, id, attempt.attempt);
    if (context === null) return;
    this.tracing.record(`task ${kind}`, {
      context,
      parent: this.#parentOf(attempt),
      attributes: {
        'heddle.task_id': id,
        'heddle.workflow_id': workflow_id,
        'heddle.kind': kind,
        'heddle.task_name': attempt.name,
        'heddle.attempt': attempt.attempt,
        'heddle.outcome': outcome,
        ...(retrying ? { 'heddle.retrying': true } : {}),
        ...(started_ms === null ? {} : { 'heddle.wait_ms': Math.max(0, started_ms - ready_ms) }),
      },
      startedAt: ready_ms,
      endedAt: attempt.now_ms,
      events: started_ms === null ? [] : [{ name: 'started', at: started_ms }],
      ...(NO_FAILURE.has(outcome) ? {} : { error: reason ?? outcome }),
    });
  }

  /** Makes nodes created by a generator children of the attempt that created them. */
  #parentOf({ workflow_id, traceparent, generator_id, generator_attempt }: TracedAttempt): string | null {
    return generator_id === null || generator_attempt === null
      ? workflowContext(this.tracing, traceparent, workflow_id)
      : attemptContext(this.tracing, traceparent, generator_id, generator_attempt);
  }

  /** Records the spans of workflows that just ended; a failure to trace must not fail the caller. */
  async workflowsEnded(ids: readonly string[]): Promise<void> {
    try {
      for (const workflow of await findTracedWorkflows(this.#database, ids)) this.#recordWorkflow(workflow);
    } catch (error) {
      this.#log.debug({ err: error, workflows: ids.length }, 'spans of workflows could not be recorded');
    }
  }

  #recordWorkflow(workflow: TracedWorkflow): void {
    const { id, name, traceparent, is_tree, task_count, created_at, ended_at, root_state } = workflow;
    const context = workflowContext(this.tracing, traceparent, id);
    if (context === null) return;
    const state = root_state === null ? null : taskStateOf(root_state);
    const failed = state === 'failed' || state === 'timed_out' || state === 'partially_failed';
    this.tracing.record(is_tree ? 'workflow' : 'batch', {
      context,
      parent: beginsTrace(traceparent, id) ? null : traceparent,
      attributes: {
        'heddle.workflow_id': id,
        'heddle.tasks': task_count,
        ...(name === null ? {} : { 'heddle.workflow_name': name }),
        ...(state === null ? {} : { 'heddle.outcome': state }),
      },
      startedAt: created_at,
      endedAt: ended_at,
      ...(failed ? { error: state } : {}),
    });
  }
}
