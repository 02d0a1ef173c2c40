import { isTerminal } from '@heddle/base/vocabulary/task-state';
import type { ContainerState, TaskState, TerminalState } from '@heddle/base/vocabulary/task-state';
import { derivedState, tolerates } from '@heddle/base/vocabulary/workflow';
import type { ChildCounts, CompletionPolicy } from '@heddle/base/vocabulary/workflow';
import type { Model, ModelContainer, ModelTask, NodeId } from './state.ts';

/** Child of a container as its parent sees it. */
export interface ModelNode {
  readonly id: NodeId;
  readonly policy: CompletionPolicy;
  readonly state: TaskState | ContainerState;
}

/** Returns the container with this id; throws on an unknown id, which is a programming error. */
export function containerOf(model: Model, id: NodeId): ModelContainer {
  const container = model.containers.get(id);
  if (container === undefined) throw new Error(`the model has no container ${id}`);
  return container;
}

function nodeOf(model: Model, id: NodeId): ModelNode {
  const task = model.tasks.get(id);
  if (task === undefined) return containerOf(model, id);
  return { id, policy: task.place!.policy, state: task.state };
}

export function hasEnded(node: ModelNode): node is ModelNode & { state: TerminalState } {
  return isTerminal(node.state);
}

export function childNodes(model: Model, container: ModelContainer): ModelNode[] {
  return container.children.map((id) => nodeOf(model, id));
}

/** Returns the containers from this one up to its root. */
export function withAncestors(model: Model, id: NodeId): ModelContainer[] {
  const chain: ModelContainer[] = [];
  for (let at: NodeId | null = id; at !== null;) {
    const container: ModelContainer = containerOf(model, at);
    chain.push(container);
    at = container.parent_id;
  }
  return chain;
}

/** Yields every node below a container. */
export function nodesBelow(model: Model, container: ModelContainer): NodeId[] {
  return container.children.flatMap((id) => {
    const inner = model.containers.get(id);
    return inner === undefined ? [id] : [id, ...nodesBelow(model, inner)];
  });
}

/** Returns the generators outside of a container that may still add children to it. */
export function openGenerators(model: Model, container: ModelContainer): NodeId[] {
  return [...container.open_generators].filter((id) => !isTerminal(model.tasks.get(id)!.state));
}

/** Returns the current child of a sequence: the first one that has not ended or that it does not tolerate. */
export function standsAt(model: Model, container: ModelContainer): ModelNode | undefined {
  return childNodes(model, container).find((child) => !hasEnded(child) || !tolerates(child.policy, child.state));
}

/** Returns whether a task of a tree waits for its container to reach it. */
export function isSealed(model: Model, task: ModelTask): boolean {
  if (task.place === null) return false;
  const container = containerOf(model, task.place.container_id);
  if (container.state !== 'running') return true;
  return container.mode === 'sequential' && standsAt(model, container)?.id !== task.definition.id;
}

/** Counts the ends of a container's children. */
export function countChildren(model: Model, container: ModelContainer): ChildCounts {
  const children = childNodes(model, container);
  const ended = children.filter(hasEnded);
  const count = (...states: TerminalState[]): number => ended.filter(({ state }) => states.includes(state)).length;
  return {
    children: children.length,
    open: children.length - ended.length,
    succeeded: count('succeeded'),
    failed: count('failed', 'canceled'),
    timed_out: count('timed_out'),
    partially_failed: count('partially_failed'),
    disabled: count('disabled'),
    tolerated: ended.filter(
      ({ state, policy }) => state !== 'succeeded' && state !== 'disabled' && tolerates(policy, state),
    ).length,
  };
}

/** Returns the state of a container whose children have all ended. */
export function stateByChildren(model: Model, container: ModelContainer): Exclude<TerminalState, 'canceled'> {
  return derivedState(countChildren(model, container), false);
}
