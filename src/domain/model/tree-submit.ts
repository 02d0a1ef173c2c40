import type { ContainerId, TaskId, WorkflowId } from '../ids.ts';
import type { NewContainerNode, NewNode, NewTaskNode } from '../workflow.ts';
import { isTerminal } from '../task-state.ts';
import type { Model, ModelContainer, NodeId } from './state.ts';
import { newModelTask } from './submit.ts';
import { nodesBelow, withAncestors } from './tree.ts';
import { settleTrees } from './tree-settle.ts';

/** Adds a workflow that is a tree; one that is there already stays as it is. */
export function submitWorkflow(model: Model, root: NewContainerNode, now: number): void {
  if (model.containers.has(root.id)) return;
  const id: string = root.id;
  addNode(model, root, { workflow_id: id, parent_id: null, generator_id: null }, now);
  fillBesideGenerators(model, [root.id]);
  settleTrees(model);
}

export interface ModelCreation {
  generator_id: TaskId;
  node: NewNode;
  /** The id or the local name of the container it goes into; null: the generator's own. */
  parent: string | null;
}

export type CreationAnswer = 'created' | 'exists' | 'rejected';

/** Adds what generators made, one after the other. */
export function createNodes(model: Model, creations: readonly ModelCreation[], now: number): CreationAnswer[] {
  return creations.map((creation) => {
    const answer = createNode(model, creation, now);
    settleTrees(model);
    return answer;
  });
}

function createNode(model: Model, { generator_id, node, parent }: ModelCreation, now: number): CreationAnswer {
  const id: string = node.type === 'task' ? node.task.id : node.id;
  if (model.tasks.has(id) || model.containers.has(id)) return 'exists';
  const generator = model.tasks.get(generator_id);
  if (generator === undefined || generator.place === null || isTerminal(generator.state)) return 'rejected';
  const own = generator.place.container_id;
  const into = parent === null ? model.containers.get(own) : namedContainer(model, generator.workflow_id, parent);
  if (into === undefined || isTerminal(into.state)) return 'rejected';
  into.children = [...into.children, id];
  addNode(model, node, { workflow_id: generator.workflow_id, parent_id: into.id, generator_id }, now);
  if (into.id !== own) into.fillers = new Set([...into.fillers, generator_id]);
  if (node.type === 'container') {
    for (const empty of emptyContainers(model, [id])) empty.fillers = new Set([...empty.fillers, generator_id]);
    fillBesideGenerators(model, [id]);
  }
  return 'created';
}

/** Names go before ids; of several containers of one name the oldest is meant. */
function namedContainer(model: Model, workflowId: WorkflowId, name: string): ModelContainer | undefined {
  const all = [...model.containers.values()]
    .filter((container) => container.workflow_id === workflowId)
    .sort((left, right) => (left.id < right.id ? -1 : 1));
  return all.find((container) => container.local_id === name) ?? all.find((container) => container.id === name);
}

interface Whereabouts {
  workflow_id: WorkflowId;
  parent_id: ContainerId | null;
  generator_id: TaskId | null;
}

function addNode(model: Model, node: NewNode, where: Whereabouts, now: number): void {
  if (node.type === 'task') {
    addTask(model, node, where, now);
    return;
  }
  model.containers.set(node.id, {
    ...where,
    id: node.id,
    local_id: node.local_id,
    mode: node.mode,
    policy: node.policy,
    state: 'waiting',
    children: node.children.map((child) => (child.type === 'task' ? child.task.id : child.id)),
    fillers: new Set(),
    disabled_by: null,
  });
  for (const child of node.children) addNode(model, child, { ...where, parent_id: node.id }, now);
}

/** A paused workflow takes tasks, but starts none. */
function addTask(
  model: Model,
  node: NewTaskNode,
  { workflow_id, parent_id, generator_id }: Whereabouts,
  now: number,
): void {
  const task = newModelTask(workflow_id, node.task, [], now);
  task.place = {
    container_id: parent_id!,
    policy: node.policy,
    disabled: node.disabled,
    generates: node.generates,
    generator_id,
  };
  if (node.disabled) task.state = 'disabled';
  else if (model.paused.has(workflow_id)) {
    task.state = 'paused';
    task.paused_at = now;
  }
  model.tasks.set(node.task.id, task);
}

function emptyContainers(model: Model, ids: readonly NodeId[]): ModelContainer[] {
  const containers = ids.flatMap((id) => model.containers.get(id) ?? []);
  return containers.flatMap((container) =>
    container.children.length === 0 ? [container] : emptyContainers(model, container.children),
  );
}

/** An empty container waits for every generator that runs beside it: whose lowest common ancestor with it is parallel. */
function fillBesideGenerators(model: Model, roots: readonly ContainerId[]): void {
  const below = roots.flatMap((id) => nodesBelow(model, model.containers.get(id)!));
  const generators = below.filter((id) => model.tasks.get(id)?.place?.generates === true);
  for (const empty of emptyContainers(model, roots)) {
    const ancestors = withAncestors(model, empty.id);
    const beside = generators.filter((id) => {
      const around = new Set(withAncestors(model, model.tasks.get(id)!.place!.container_id));
      return ancestors.find((container) => around.has(container))?.mode === 'parallel';
    });
    empty.fillers = new Set([...empty.fillers, ...beside]);
  }
}
