import type { KindDefinition } from '@heddle/kit';
import type { Executors } from '../kinds/remote/executors.ts';
import { remoteEvent, type Traced } from '../kinds/remote/remote-event.ts';
import type { Tracing } from '@heddle/base/trace';

export interface RemoteKindsOptions {
  /** Null if none is configured: tasks of the kind then wait for a process that has executors. */
  executors: Executors | null;
  tracing: Tracing;
}

/** Returns the kind that sends tasks to executors. */
export function remoteKinds({ executors, tracing }: RemoteKindsOptions): KindDefinition[] {
  if (executors === null) return [];
  const traced: Traced = ({ task, traceparent: parent }, run) => {
    const attributes = { 'heddle.task_id': task.id, 'heddle.attempt': task.attempt };
    const options = { kind: 'client' as const, parent, attributes };
    return tracing.span('remote event', options, (span) => run(tracing.traceparentOf(span)));
  };
  return [remoteEvent({ executors, traced })];
}
