import type { ContainerId, TaskId, WorkflowId } from '@heddle/base/ids';
import type { NewContainerNode, NewNode, NewTaskNode } from '@heddle/base/vocabulary/workflow';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import type { Model, ModelContainer, ModelTask, NodeId } from './state.ts';
import { newModelTask } from './submit.ts';
import { containerOf, isSealed, nodesBelow } from './tree.ts';
import { emptyContainers, fillBesideGenerators } from './tree-generators.ts';
import { settleTrees } from './tree-settle.ts';

/** Adds a workflow that is a tree; an existing one stays unchanged. */
export function submitWorkflow(model: Model, root: NewContainerNode, now: number): void {
  if (model.containers.has(root.id)) return;
  const id: string = root.id;
  addNode(model, root, { workflow_id: id, parent_id: null, generator_id: null, generator_attempt: null }, now);
  fillBesideGenerators(model, root.id);
  settleTrees(model);
}

export interface ModelCreation {
  generator_id: TaskId;
  /** Null: the current attempt. */
  attempt: number | null;
  node: NewNode;
  /** Id or local name of the parent container; null: the generator's own container. */
  parent: string | null;
}

export type CreationAnswer = 'created' | 'exists' | 'stale_attempt' | 'rejected';
/** Place of a node, or why it has none. */
type Place = ModelContainer | Exclude<CreationAnswer, 'created'> | 'no_container';

/**
 * Adds nodes created by generators, in rounds: a node that names a missing container may find it among those of the
 * round before, so that the order within a set does not matter.
 */
export function createNodes(model: Model, creations: readonly ModelCreation[], now: number): CreationAnswer[] {
  const answers = new Map<NodeId, CreationAnswer>();
  let round = creations.filter((creation, at) => at === creations.findIndex((other) => idOf(other) === idOf(creation)));
  while (round.length > 0) {
    const places = round.map((creation) => placeOf(model, creation));
    for (const [at, into] of places.entries()) {
      const creation = round[at]!;
      if (typeof into !== 'string') addCreated(model, creation, into, now);
      if (into === 'exists') adopt(model, creation);
      answers.set(idOf(creation), answerOf(into));
    }
    settleTrees(model);
    const made = round.filter((_, at) => typeof places[at] !== 'string').map(idOf);
    round = round.filter(({ parent }, at) => places[at] === 'no_container' && isAmong(model, made, parent!));
  }
  const isRepeat = (creation: ModelCreation, at: number): boolean =>
    creations.findIndex((other) => idOf(other) === idOf(creation)) < at;
  // A node of an ended attempt is followed by the next one with its id.
  const isNext = (creation: ModelCreation, at: number): boolean =>
    isRepeat(creation, at) && answers.get(idOf(creation)) === 'stale_attempt';
  const next = creations.filter(isNext);
  const later = next.length > 0 ? createNodes(model, next, now) : [];
  return creations.map((creation, at) => {
    if (isNext(creation, at)) return later.shift()!;
    const answer = answers.get(idOf(creation))!;
    return isRepeat(creation, at) && answer === 'created' ? 'exists' : answer;
  });
}

function answerOf(place: Place): CreationAnswer {
  if (typeof place !== 'string') return 'created';
  return place === 'no_container' ? 'rejected' : place;
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

function placeOf(model: Model, { generator_id, attempt, parent, node }: ModelCreation): Place {
  const id: string = node.type === 'task' ? node.task.id : node.id;
  if (model.tasks.has(id) || model.containers.has(id)) return 'exists';
  const generator = model.tasks.get(generator_id);
  if (generator === undefined || generator.place === null) return 'rejected';
  if (isStale(generator, attempt)) return 'stale_attempt';
  if (isTerminal(generator.state)) return 'rejected';
  const into =
    parent === null
      ? containerOf(model, generator.place.container_id)
      : namedContainer(model, generator.workflow_id, parent);
  if (into === undefined) return 'no_container';
  return isTerminal(into.state) ? 'rejected' : into;
}

function isStale(generator: ModelTask, attempt: number | null): boolean {
  return attempt !== null && attempt !== generator.attempt;
}

/** Assigns to the current attempt the nodes of an earlier attempt that it creates again. */
function adopt(model: Model, creation: ModelCreation): void {
  const { generator_id, attempt } = creation;
  const generator = model.tasks.get(generator_id);
  if (generator === undefined || isStale(generator, attempt) || isTerminal(generator.state)) return;
  const generator_attempt = generator.attempt;
  const task = model.tasks.get(idOf(creation));
  if (task?.place?.generator_id === generator_id) task.place = { ...task.place, generator_attempt };
  const container = model.containers.get(idOf(creation));
  if (container?.generator_id === generator_id) container.generator_attempt = generator_attempt;
}

/**
 * Containers beside a generator that it adds nodes to, and empty ones that it creates, wait for it from then on. A
 * generator that waits (a late message of an attempt before a retry) keeps nothing open: it may wait for just that
 * container.
 */
function addCreated(model: Model, { generator_id, node }: ModelCreation, into: ModelContainer, now: number): void {
  const id: string = node.type === 'task' ? node.task.id : node.id;
  const generator = model.tasks.get(generator_id)!;
  const keepsOpen = !isSealed(model, generator);
  into.children = [...into.children, id];
  const generator_attempt = generator.attempt;
  const { workflow_id } = generator;
  addNode(model, node, { workflow_id, parent_id: into.id, generator_id, generator_attempt }, now);
  if (keepsOpen && into.id !== generator.place!.container_id)
    into.open_generators = new Set([...into.open_generators, generator_id]);
  if (node.type === 'task') return;
  fillBesideGenerators(model, id);
  if (!keepsOpen) return;
  for (const empty of emptyContainers(model, id))
    empty.open_generators = new Set([...empty.open_generators, generator_id]);
}

/** Resolves names before ids; of several containers with one name the oldest wins. */
function namedContainer(model: Model, workflowId: WorkflowId, name: string): ModelContainer | undefined {
  const all = [...model.containers.values()]
    .filter((container) => container.workflow_id === workflowId)
    .sort((left, right) => (left.id < right.id ? -1 : 1));
  return all.find((container) => container.local_id === name) ?? all.find((container) => container.id === name);
}

interface Whereabouts {
  workflow_id: WorkflowId;
  parent_id: ContainerId | null;
  /** Applies to the outermost node of a creation. */
  generator_id: TaskId | null;
  generator_attempt: number | null;
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
    open_generators: new Set(),
    disabled_by: null,
  });
  const below = { ...where, parent_id: node.id, generator_id: null, generator_attempt: null };
  for (const child of node.children) addNode(model, child, below, now);
}

/** A paused workflow accepts tasks but starts none. */
function addTask(
  model: Model,
  node: NewTaskNode,
  { workflow_id, parent_id, generator_id, generator_attempt }: Whereabouts,
  now: number,
): void {
  const task = newModelTask(workflow_id, node.task, [], now);
  task.place = {
    container_id: parent_id!,
    policy: node.policy,
    disabled: node.disabled,
    generates: node.generates,
    generator_id,
    generator_attempt,
  };
  if (node.disabled) task.state = 'disabled';
  else if (model.paused.has(workflow_id)) {
    task.state = 'paused';
    task.paused_at = now;
  }
  model.tasks.set(node.task.id, task);
}
