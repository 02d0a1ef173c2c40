import { derivedId } from './derived-id.ts';
import { parseTraceparent, type Tracing } from './trace.ts';

type Contexts = Pick<Tracing, 'enabled' | 'contextWithin'>;

/**
 * The spans of workflows and attempts begin in one process and end in another, hours later. So their ids follow from
 * what every process knows: whoever hands a task on names its span as the parent, and whoever ends it records the span.
 */
export function workflowSpanId(workflowId: string): string {
  return spanIdOf(workflowId, 0);
}

function attemptSpanId(taskId: string, attempt: number): string {
  return spanIdOf(taskId, attempt);
}

function spanIdOf(id: string, ordinal: number): string {
  return derivedId(id, { ordinal }).replaceAll('-', '').slice(16);
}

/** The context of a workflow's span, for what it does itself; the stored one while tracing is off. */
export function workflowContext(tracing: Contexts, stored: string | null, workflowId: string): string | null {
  return tracing.enabled ? tracing.contextWithin(stored, workflowSpanId(workflowId)) : stored;
}

/**
 * The context of the span of one attempt of a task, for all that the attempt does.
 *
 * @param stored W3C trace context that its workflow was submitted with
 */
export function attemptContext(
  tracing: Contexts,
  stored: string | null,
  taskId: string,
  attempt: number,
): string | null {
  return tracing.enabled ? tracing.contextWithin(stored, attemptSpanId(taskId, attempt)) : stored;
}

/** Whether a stored context names the workflow's own span: nobody else's trace goes on in it. */
export function beginsTrace(stored: string, workflowId: string): boolean {
  return parseTraceparent(stored)?.spanId === workflowSpanId(workflowId);
}
