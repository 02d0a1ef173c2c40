import type { ContainerId, TaskId, WorkflowId } from '../ids.ts';
import type { NewContainerNode, NewNode, NewTaskNode } from '../workflow.ts';
import { isTerminal } from '../task-state.ts';
import type { Model, ModelContainer, NodeId } from './state.ts';
import { newModelTask } from './submit.ts';
import { containerOf, isSealed, nodesBelow } from './tree.ts';
import { emptyContainers, fillBesideGenerators } from './tree-fillers.ts';
import { settleTrees } from './tree-settle.ts';

/** Adds a workflow that is a tree; one that is there already stays as it is. */
export function submitWorkflow(model: Model, root: NewContainerNode, now: number): void {
  if (model.containers.has(root.id)) return;
  const id: string = root.id;
  addNode(model, root, { workflow_id: id, parent_id: null, generator_id: null }, now);
  fillBesideGenerators(model, root.id);
  settleTrees(model);
}

export interface ModelCreation {
  generator_id: TaskId;
  node: NewNode;
  /** The id or the local name of the container it goes into; null: the generator's own. */
  parent: string | null;
}

export type CreationAnswer = 'created' | 'exists' | 'rejected';

/**
 * Adds what generators made. Nodes go in by rounds: what names a container that is not there may find it among those of
 * the round before, so that the order within a set does not matter.
 */
export function createNodes(model: Model, creations: readonly ModelCreation[], now: number): CreationAnswer[] {
  const answers = new Map<NodeId, CreationAnswer>();
  let round = creations.filter((creation, at) => at === creations.findIndex((other) => idOf(other) === idOf(creation)));
  while (round.length > 0) {
    const places = round.map((creation) => placeOf(model, creation));
    for (const [at, into] of places.entries()) {
      const creation = round[at]!;
      if (typeof into !== 'string') addCreated(model, creation, into, now);
      answers.set(idOf(creation), typeof into !== 'string' ? 'created' : into === 'exists' ? 'exists' : 'rejected');
    }
    settleTrees(model);
    const made = round.filter((_, at) => typeof places[at] !== 'string').map(idOf);
    round = round.filter(({ parent }, at) => places[at] === 'no_container' && isAmong(model, made, parent!));
  }
  return creations.map((creation, at) => {
    const isRepeat = creations.findIndex((other) => idOf(other) === idOf(creation)) < at;
    const answer = answers.get(idOf(creation))!;
    return isRepeat && answer === 'created' ? 'exists' : answer;
  });
}

function idOf({ node }: ModelCreation): NodeId {
  return node.type === 'task' ? node.task.id : node.id;
}

function isAmong(model: Model, made: readonly NodeId[], parent: string): boolean {
  const containers = made.flatMap((id) => {
    const container = model.containers.get(id);
    return container === undefined ? [] : [id, ...nodesBelow(model, container)];
  });
  return containers.some((id) => id === parent || model.containers.get(id)?.local_id === parent);
}

function placeOf(
  model: Model,
  { generator_id, parent, ...creation }: ModelCreation,
): ModelContainer | 'exists' | 'rejected' | 'no_container' {
  const id = idOf({ generator_id, parent, ...creation });
  if (model.tasks.has(id) || model.containers.has(id)) return 'exists';
  const generator = model.tasks.get(generator_id);
  if (generator === undefined || generator.place === null || isTerminal(generator.state)) return 'rejected';
  const into =
    parent === null
      ? containerOf(model, generator.place.container_id)
      : namedContainer(model, generator.workflow_id, parent);
  if (into === undefined) return 'no_container';
  return isTerminal(into.state) ? 'rejected' : into;
}

/**
 * Containers beside a generator that it puts something into, and empty ones that it makes, wait for it from then on. One
 * whose turn has not come (a late message of an attempt before a retry) keeps nothing open: its turn may wait for just
 * that container.
 */
function addCreated(model: Model, { generator_id, node }: ModelCreation, into: ModelContainer, now: number): void {
  const id: string = node.type === 'task' ? node.task.id : node.id;
  const generator = model.tasks.get(generator_id)!;
  const keepsOpen = !isSealed(model, generator);
  into.children = [...into.children, id];
  addNode(model, node, { workflow_id: generator.workflow_id, parent_id: into.id, generator_id }, now);
  if (keepsOpen && into.id !== generator.place!.container_id) into.fillers = new Set([...into.fillers, generator_id]);
  if (node.type === 'task') return;
  fillBesideGenerators(model, id);
  if (!keepsOpen) return;
  for (const empty of emptyContainers(model, id)) empty.fillers = new Set([...empty.fillers, generator_id]);
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
  /** Of the outermost node of what a generator made. */
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
  for (const child of node.children) addNode(model, child, { ...where, parent_id: node.id, generator_id: null }, now);
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
