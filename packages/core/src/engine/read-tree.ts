import type { WorkflowSummary } from '@heddle/base/vocabulary/task';
import type { TaskResult, TreeChanges, TreeOptions, TreePage, WorkflowTree } from '@heddle/base/vocabulary/workflow';
import { databaseNow, findWorkflow } from '../store/task-reads.ts';
import * as trees from '../store/tree-reads.ts';
import type { EngineContext } from './context.ts';
import type { ChildPage, ResultScope } from './port.ts';
import { CHANGE_OVERLAP_MS } from './read.ts';

/** A tree with at most this many containers returns all of them whenever anything changed. */
const SMALL_TREE = 1000;

const ONE_SNAPSHOT = { isolation: 'repeatable read', readOnly: true } as const;

/** Returns the tree of a workflow, or the requested part of it, in one snapshot. */
export function getTree(
  context: EngineContext,
  id: string,
  options: TreeOptions = {},
): Promise<{ workflow: WorkflowSummary; tree: WorkflowTree } | null> {
  const { depth = null, tasks: withTasks = true, inputs = true, nodes_max: nodesMax = null } = options;
  return context.database.transaction(async (tx) => {
    const workflow = await findWorkflow(tx, id);
    if (workflow === null || workflow.root_state === null) return null;
    const found = await trees.findContainers(tx, workflow, depth, nodesMax);
    const containers = found.map(({ container }) => container);
    const holders = found.filter(({ level }) => depth === null || level < depth).map(({ container }) => container.id);
    const room = nodesMax === null ? null : nodesMax - containers.length;
    if (!withTasks || room === 0 || holders.length === 0) return { workflow, tree: { containers, tasks: [] } };
    const tasks = await trees.findTasksOfContainers(tx, workflow, holders, inputs, room);
    return { workflow, tree: { containers, tasks } };
  }, ONE_SNAPSHOT);
}

/** Returns one page of a container's children, by position. */
export function listChildren(
  context: EngineContext,
  id: string,
  containerId: string,
  page: ChildPage,
): Promise<TreePage | null> {
  return context.database.transaction(async (tx) => {
    const [container] = await trees.findContainersById(tx, id, [containerId]);
    if (container === undefined) return null;
    const children = await trees.findChildIds(tx, id, containerId, page);
    const idsOf = (containers: boolean): string[] =>
      children.filter((child) => child.is_container === containers).map((child) => child.id);
    return {
      container,
      containers: await trees.findContainersById(tx, id, idsOf(true)),
      tasks: await trees.findTreeTasksById(tx, idsOf(false)),
    };
  }, ONE_SNAPSHOT);
}

/** Returns what changed in a tree since the cursor of the last call; cursor 0 returns all. */
export async function treeChanges(context: EngineContext, id: string, cursor: number): Promise<TreeChanges | null> {
  const started = context.now() === null ? await databaseNow(context.database) : context.clock.now();
  const since = new Date(cursor).toISOString();
  return context.database.transaction(async (tx) => {
    const workflow = await findWorkflow(tx, id);
    if (workflow === null || workflow.root_state === null) return null;
    const tasks = await trees.findTreeTasksChanged(tx, id, since);
    const containers =
      cursor === 0 || workflow.archived
        ? await trees.findAllContainers(tx, id)
        : await trees.findContainersChanged(tx, id, since, SMALL_TREE);
    return { workflow, tree: { containers, tasks }, cursor: started - CHANGE_OVERLAP_MS };
  }, ONE_SNAPSHOT);
}

export function readResult({ database }: EngineContext, taskId: string): Promise<TaskResult | null> {
  return trees.findResult(database, taskId);
}

/** Returns results of tasks in trees, by container and position, after `after`; at most `limit`. */
export function readResults(
  { database }: EngineContext,
  scope: ResultScope,
  after: string | null,
  limit: number,
): Promise<TaskResult[]> {
  if ('workflow_id' in scope) return trees.findResults(database, 'workflow', scope.workflow_id, after, limit);
  if ('container_id' in scope) return trees.findResults(database, 'below', scope.container_id, after, limit);
  return trees.findResults(database, 'before', scope.before_task_id, after, limit);
}
