import type { Attributes, Span, Tracing } from '../../runtime/trace.ts';
import type { Ingress } from '../protocol/messages.ts';

/** The spans of one task, in the order of its life. */
export const TASK_SPANS = {
  submit: 'task.submit',
  validate: 'task.validate',
  resolve: 'event.resolve',
  execute: 'task.execute',
  respond: 'task.respond',
} as const;

export interface SubmitOrigin {
  protocol: Ingress;
  /** The caller's trace context; null starts a trace. */
  traceparent: string | null;
}

type Run<T> = (span: Span) => Promise<T>;

/** Traces a task. Each method runs `run` inside its span; what it throws is recorded there and thrown on. */
export interface TaskTracing {
  /** The whole request, within the caller's trace. */
  submit<T>(origin: SubmitOrigin, run: Run<T>): Promise<T>;
  /** From the authentication to the last check, within the surrounding span. */
  validate<T>(run: Run<T>): Promise<T>;
  /** `parent` is the trace context kept with the task: its later steps run outside of the request. */
  resolve<T>(parent: string | null, eventName: string, run: Run<T>): Promise<T>;
  execute<T>(parent: string | null, task: ExecutedTask, run: Run<T>): Promise<T>;
  /** Building, signing and handing over of the answer, within the surrounding span unless a parent is given. */
  respond<T>(parent: string | null | undefined, correlationId: string, run: Run<T>): Promise<T>;
  /** The trace context to keep with the task, and to hand to its process. */
  traceparentOf(span: Span): string | null;
}

export interface ExecutedTask {
  event_name: string;
  correlation_id: string;
  tier: string;
}

/** The spans of tasks on a tracer. */
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
