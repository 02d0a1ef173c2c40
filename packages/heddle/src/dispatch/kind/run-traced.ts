import type { KindDefinition, KindTask } from '@heddle/kit';
import { markFailed, type Tracing } from '@heddle/base/trace';
import type { Completion } from './completion.ts';
import { runKind, type RunHost, type RunPorts } from './run-kind.ts';

export interface Run {
  definition: KindDefinition;
  task: KindTask;
  host: RunHost;
  ports: RunPorts;
}

/** Runs a task in its own span, which is the parent of its handler's calls; runs it unchanged while tracing is off. */
export function runTraced(
  tracing: Tracing | null,
  { definition, task, host, ports }: Run,
): Completion | Promise<Completion> {
  if (tracing === null || !tracing.enabled) return runKind(definition, task, host, ports);
  const attributes = { 'heddle.task_id': task.id, 'heddle.kind': task.kind, 'heddle.attempt': task.attempt };
  const parent = host.traceparent;
  return tracing.span(`run ${task.kind}`, { kind: 'consumer', parent, attributes }, async (span) => {
    const traced = within(host, tracing.traceparentOf(span));
    const completion = await runKind(definition, task, traced, ports);
    if (completion.outcome !== 'succeeded') markFailed(span, completion.reason ?? completion.outcome);
    return completion;
  });
}

/** The host with the trace context of the span. Its lazy members remain lazy. */
function within(host: RunHost, traceparent: string | null): RunHost {
  return {
    get signal() {
      return host.signal;
    },
    get log() {
      return host.log;
    },
    get output() {
      return host.output;
    },
    get progress() {
      return host.progress;
    },
    traceparent,
  };
}
