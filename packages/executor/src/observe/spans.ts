import type { Attributes, Span, Tracing } from '@heddle/base/trace';
import type { Ingress } from '../protocol/messages.ts';

/** Spans of one task, in order. */
export const TASK_SPANS = {
  submit: 'task.submit',
  validate: 'task.validate',
  resolve: 'event.resolve',
  execute: 'task.execute',
  respond: 'task.respond',
} as const;

export interface SubmitOrigin {
  protocol: Ingress;
  /** The caller's trace context; null starts a new trace. */
  traceparent: string | null;
}

type Run<T> = (span: Span) => Promise<T>;

/** Traces a task. Each method runs `run` inside its span; errors are recorded there and rethrown. */
export interface TaskTracing {
  /** Covers the whole request, within the caller's trace. */
  submit<T>(origin: SubmitOrigin, run: Run<T>): Promise<T>;
  /** Covers authentication and validation, within the current span. */
  validate<T>(run: Run<T>): Promise<T>;
  /**
   * Covers resolution. `parent` is the trace context stored with the task, because later steps run outside the request.
   */
  resolve<T>(parent: string | null, eventName: string, run: Run<T>): Promise<T>;
  execute<T>(parent: string | null, task: ExecutedTask, run: Run<T>): Promise<T>;
  /** Covers building, signing and delivering the response, within the current span unless a parent is given. */
  respond<T>(parent: string | null | undefined, correlationId: string, run: Run<T>): Promise<T>;
  /** Returns the trace context to store with the task and pass to its process. */
  traceparentOf(span: Span): string | null;
}

export interface ExecutedTask {
  event_name: string;
  correlation_id: string;
  tier: string;
}

/** Creates the spans of tasks on a tracer. */
export function createTaskTracing(tracing: Tracing): TaskTracing {
  const within = <T>(
    name: string,
    parent: string | null | undefined,
    attributes: Attributes,
    run: Run<T>,
  ): Promise<T> => tracing.span(name, parent === undefined ? { attributes } : { attributes, parent }, run);
  return {
    submit: ({ protocol, traceparent }, run) =>
      tracing.span(
        TASK_SPANS.submit,
        { kind: 'server', parent: traceparent, attributes: { 'heddle.protocol': protocol } },
        run,
      ),
    validate: (run) => within(TASK_SPANS.validate, undefined, {}, run),
    resolve: (parent, eventName, run) => within(TASK_SPANS.resolve, parent, { 'heddle.event_name': eventName }, run),
    execute: (parent, task, run) =>
      within(
        TASK_SPANS.execute,
        parent,
        {
          'heddle.event_name': task.event_name,
          'heddle.correlation_id': task.correlation_id,
          'heddle.tier': task.tier,
        },
        run,
      ),
    respond: (parent, correlationId, run) =>
      within(TASK_SPANS.respond, parent, { 'heddle.correlation_id': correlationId }, run),
    traceparentOf: (span) => tracing.traceparentOf(span),
  };
}
