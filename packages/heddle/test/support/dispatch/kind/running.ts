import type { NodeCreation } from '@heddle/core/engine/port';
import type { TaskResult } from '@heddle/base/vocabulary/workflow';
import type { JsonObject } from '@heddle/base/json';
import { silentLogger } from '@heddle/base/log';
import { newId } from '@heddle/base/random';
import type { Completion } from '../../../../src/dispatch/kind/completion.ts';
import type { KindDefinition, KindTask } from '@heddle/kit';
import { NO_RESULTS } from '../../../../src/dispatch/kind/result-stream.ts';
import { runKind, type RunHost, type RunPorts } from '../../../../src/dispatch/kind/run-kind.ts';

export interface RunOptions {
  input?: JsonObject;
  task?: Partial<KindTask>;
  host?: Partial<RunHost>;
  ports?: Partial<RunPorts>;
}

/** The outcome of one run, with what it sent and counted. */
export interface Ran {
  completion: Completion;
  created: NodeCreation[];
  counted: [number, number][];
}

export function kindTask(kind: string, changes: Partial<KindTask> = {}): KindTask {
  const id = newId();
  return {
    id,
    kind,
    name: kind,
    workflow_id: newId(),
    container_id: newId(),
    local_id: null,
    attempt: 1,
    timeout_secs: 60,
    input: {},
    runners: [],
    ...changes,
  };
}

/** Runs a kind once, without a worker. */
export async function runOnce(definition: KindDefinition, options: RunOptions = {}): Promise<Ran> {
  const created: NodeCreation[] = [];
  const counted: [number, number][] = [];
  const host: RunHost = {
    signal: new AbortController().signal,
    log: silentLogger,
    output: () => undefined,
    progress: (successes, failures) => Promise.resolve(void counted.push([successes, failures])),
    traceparent: null,
  };
  // Not spread, because that would call a getter of the test.
  Object.defineProperties(host, Object.getOwnPropertyDescriptors(options.host ?? {}));
  const ports: RunPorts = {
    nodes: { send: (creations) => Promise.resolve(void created.push(...creations)) },
    results: NO_RESULTS,
    ...options.ports,
  };
  const task = kindTask(definition.name, { input: options.input ?? {}, ...options.task });
  return { completion: await runKind(definition, task, host, ports), created, counted };
}

/** Results of the given number of tasks, in the order of their ids. */
export function resultsOf(count: number, data: (n: number) => TaskResult['data']): TaskResult[] {
  return Array.from({ length: count }, (_, n) => ({
    task_id: newId(),
    local_id: null,
    kind: 'work',
    state: 'succeeded',
    data: data(n),
  }));
}
