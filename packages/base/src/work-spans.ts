import { derivedId } from './derived-id.ts';
import { parseTraceparent, type Tracing } from './trace.ts';

type Contexts = Pick<Tracing, 'enabled' | 'contextWithin'>;

/**
 * Spans of workflows and attempts begin in one process and end in another, hours later, so their ids are derived from
 * what every process knows: the dispatcher names a task's span as the parent, and the process that ends it records the
 * span.
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

/** Returns the context of a workflow's span, for its own work; the stored one while tracing is off. */
export function workflowContext(tracing: Contexts, stored: string | null, workflowId: string): string | null {
  return tracing.enabled ? tracing.contextWithin(stored, workflowSpanId(workflowId)) : stored;
}

/**
 * Returns the context of the span of one attempt of a task, for everything that the attempt does.
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

/** Returns whether a stored context names the workflow's own span rather than another trace. */
export function beginsTrace(stored: string, workflowId: string): boolean {
  return parseTraceparent(stored)?.spanId === workflowSpanId(workflowId);
}
