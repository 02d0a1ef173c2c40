import type { ClaimedTask, Engine, NodeCreation } from '@heddle/core/engine/port';
import type { Executor, TaskContext } from '../executor-registry.ts';
import type { KindDefinition, KindTask } from '@heddle/kit';
import type { Tracing } from '@heddle/base/trace';
import type { NodeSink } from './node-emitter.ts';
import { engineResults } from './result-stream.ts';
import type { RunPorts } from './run-kind.ts';
import { runTraced } from './run-traced.ts';

/** The set size with the lowest cost per node for the engine. */
const BATCH_NODES = 1000;

/** What runs of kinds may use beside the engine. */
export interface KindTools extends Partial<Omit<RunPorts, 'nodes'>> {
  tracing?: Tracing | null | undefined;
}

/** Runs a defined kind in the engine's process: nodes and results are exchanged directly. */
export function kindExecutor(
  definition: KindDefinition,
  engine: Pick<Engine, 'createNodes' | 'readResults'>,
  { tracing = null, ...tools }: KindTools = {},
): Executor {
  const ports: RunPorts = { nodes: engineNodes(engine), results: engineResults(engine), ...tools };
  return (task: ClaimedTask, context: TaskContext) =>
    runTraced(tracing, { definition, task: kindTaskOf(task), host: context, ports });
}

/** Stores nodes directly in the engine; a rejected node fails the generator. */
function engineNodes(engine: Pick<Engine, 'createNodes'>): NodeSink {
  return {
    batchNodes: BATCH_NODES,
    underWayMax: 1,
    send: async (creations: readonly NodeCreation[]) => {
      const results = await engine.createNodes(creations);
      const rejected = results.find((result) => result.result === 'rejected');
      if (rejected !== undefined) throw new Error(`a node was rejected: ${rejected.reason}`);
      if (results.some(({ result }) => result === 'stale_attempt')) throw new Error('a later attempt has begun');
    },
  };
}

function kindTaskOf(task: ClaimedTask): KindTask {
  const { id, kind, name, workflow_id, container_id, local_id, attempt, timeout_secs, metadata: input } = task;
  const { runners = [] } = task;
  return { id, kind, name, workflow_id, container_id, local_id, attempt, timeout_secs, input, runners };
}
