import type { KindDefinition } from '../kinds/definition/define-kind.ts';
import type { Executors } from '../kinds/remote/executors.ts';
import { remoteEvent, type Traced } from '../kinds/remote/remote-event.ts';
import type { Logger } from '../runtime/log.ts';
import type { Tracing } from '../runtime/trace.ts';
import type { Queryable } from '../store/database.ts';
import { findTraceparent } from '../store/traces.ts';

export interface RemoteKindsOptions {
  /** Null where none is configured: tasks of the kind then wait for a process that has some. */
  executors: Executors | null;
  /** Null for a worker without a database: its tasks begin traces of their own. */
  database: Queryable | null;
  tracing: Tracing;
  log: Logger;
}

/** The kind that sends tasks to executors. */
export function remoteKinds({ executors, database, tracing, log }: RemoteKindsOptions): KindDefinition[] {
  if (executors === null) return [];
  const traced: Traced = async (task, run) => {
    const parent = database === null ? null : await traceOf(database, task.workflow_id, log);
    const attributes = { 'heddle.task_id': task.id, 'heddle.attempt': task.attempt };
    const options = { kind: 'client' as const, parent, attributes };
    return tracing.span('remote event', options, (span) => run(tracing.traceparentOf(span)));
  };
  return [remoteEvent({ executors, traced })];
}

/** A trace is no reason to fail a task. */
async function traceOf(database: Queryable, workflowId: string, log: Logger): Promise<string | null> {
  try {
    return await findTraceparent(database, workflowId);
  } catch (error) {
    log.debug({ err: error, workflow_id: workflowId }, 'The trace of a workflow could not be read');
    return null;
  }
}
