import { settingsOf } from '@heddle/base/vocabulary/task-fields';
import type { LocalWorkerOptions } from 'heddle/internal/dispatch/local-worker';
import { LocalWorker } from 'heddle/internal/dispatch/local-worker';
import { ExecutorRegistry } from 'heddle/internal/dispatch/executor-registry';
import type { NewContainerNode, NewNode, NewTaskNode } from '@heddle/base/vocabulary/workflow';
import type { Engine, WorkflowSubmission } from '@heddle/core/engine/port';
import { newId } from '@heddle/base/random';
import { elapsedMs } from '../src/no-op.ts';
import type { TreeShape } from '../src/subject.ts';

/** Children that the generator sends in one call. */
const CHILDREN_SIZE = 1000;
const SUBMIT_SIZE = 50;
const FILLED = 'filled';

function task(kind: string, generates = false): NewTaskNode {
  return {
    type: 'task',
    policy: 'FailOnFailure',
    disabled: false,
    generates,
    task: {
      id: newId(),
      local_id: null,
      name: kind,
      kind,
      ...settingsOf('tree', {}),
      delay_ms: 0,
      metadata: { number: 7 },
      actions: [],
      rules: [],
      dedupe: [],
      retry: null,
      dependencies: [],
    },
  };
}

function container(
  mode: 'sequential' | 'parallel',
  children: NewNode[],
  local_id: string | null = null,
): NewContainerNode {
  return { type: 'container', id: newId(), local_id, mode, policy: 'FailOnFailure', children };
}

function workflow(children: NewNode[]): WorkflowSubmission {
  const root = container('sequential', children);
  return { name: null, root, traceparent: null, idempotency: null, job_run_id: null };
}

/** One of the workflows of a shape. */
function treeOf(shape: TreeShape): WorkflowSubmission {
  switch (shape.type) {
    case 'fan-out':
      return workflow([
        container('parallel', [task('generate', true), container('parallel', [], FILLED)]),
        task('last'),
      ]);
    case 'side-by-side': {
      const work = Array.from({ length: shape.tasks - 2 }, () => task('work'));
      return workflow([task('work'), container('parallel', work), task('last')]);
    }
    case 'nested': {
      let node: NewNode = task('last');
      for (let depth = shape.depth - 1; depth > 0; depth -= 1) node = container('sequential', [task('work'), node]);
      return workflow([node]);
    }
  }
}

/** Runs trees of no-op tasks in this process, generator and aggregator too; returns milliseconds until the last one ran. */
export async function runTrees(
  engine: Engine,
  options: Omit<LocalWorkerOptions, 'engine' | 'registry' | 'holder'>,
  shape: TreeShape,
): Promise<number> {
  const count = shape.type === 'side-by-side' ? shape.workflows : 1;
  const ended = Promise.withResolvers<undefined>();
  let open = count;
  const children = shape.type === 'fan-out' ? shape.children : 0;
  const worker = new LocalWorker({
    ...options,
    engine,
    holder: 'bench',
    registry: ExecutorRegistry.of({
      generate: async ({ id }) => {
        for (let made = 0; made < children; made += CHILDREN_SIZE) {
          const nodes = Array.from({ length: Math.min(CHILDREN_SIZE, children - made) }, () => task('work'));
          await engine.createNodes(nodes.map((node) => ({ generator_id: id, attempt: null, node, parent: FILLED })));
        }
      },
      work: () => undefined,
      last: () => {
        open -= 1;
        if (open === 0) ended.resolve(undefined);
      },
    }),
  });
  worker.start();
  const ms = await elapsedMs(async () => {
    for (let at = 0; at < count; at += SUBMIT_SIZE) {
      const trees = Array.from({ length: Math.min(SUBMIT_SIZE, count - at) }, () => treeOf(shape));
      await engine.submitWorkflows(trees);
    }
    await ended.promise;
  });
  await worker.stop(60_000);
  return ms;
}
