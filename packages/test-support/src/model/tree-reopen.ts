import type { TaskId } from '@heddle/base/ids';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import { reopen, taskOf } from './state.ts';
import type { Model, ModelContainer, NodeId } from './state.ts';
import { containerOf } from './tree.ts';
import { decidedBy } from './tree-branch.ts';

/**
 * Reopens these tasks of trees with everything later in the sequences around them, since it worked on their results;
 * also what follows containers that they may fill. A branch that was not taken stays so, unless the task that decided
 * is reopened too, which happens if anything on such a branch is. The containers around all of it are reopened, and the
 * workflow is resumed. Returns the tasks.
 */
export function reopenInTrees(model: Model, ids: readonly TaskId[]): Set<TaskId> {
  const tasks = new Set<TaskId>();
  const seen = new Set<NodeId>();
  /** Nodes that wait for the tasks that disabled them. */
  const held = new Map<TaskId, NodeId[]>();
  const pending: NodeId[] = [...ids];
  const addLater = (later: readonly NodeId[]): void => {
    for (const id of later) {
      const decider = decidedBy(model, id);
      if (decider !== null && !seen.has(decider)) {
        held.set(decider, [...(held.get(decider) ?? []), id]);
        continue;
      }
      pending.push(id);
      addLater(model.containers.get(id)?.children ?? []);
    }
  };
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    if (seen.has(id) || model.tasks.get(id)?.place?.disabled === true) continue;
    seen.add(id);
    const decider = decidedBy(model, id);
    if (decider !== null) pending.push(decider);
    if (model.tasks.has(id)) {
      tasks.add(id);
      pending.push(...filledBy(model, id));
      addLater(held.get(id) ?? []);
    } else {
      openAgain(containerOf(model, id));
    }
    const parent = parentOf(model, id);
    if (parent === null) continue;
    pending.push(parent.id);
    addLater(laterThan(parent, id));
  }
  for (const id of tasks) {
    const task = taskOf(model, id);
    reopen(task);
    task.run_at = null;
    task.expected_created = null;
    model.paused.delete(task.workflow_id);
  }
  return tasks;
}

function openAgain(container: ModelContainer): void {
  container.state = 'waiting';
  container.disabled_by = null;
}

function parentOf(model: Model, id: NodeId): ModelContainer | null {
  const task = model.tasks.get(id);
  const parent = task === undefined ? containerOf(model, id).parent_id : task.place!.container_id;
  return parent === null ? null : containerOf(model, parent);
}

/** Yields everything that comes after a child in its sequence. */
function laterThan(parent: ModelContainer, child: NodeId): readonly NodeId[] {
  return parent.mode === 'parallel' ? [] : parent.children.slice(parent.children.indexOf(child) + 1);
}

function filledBy(model: Model, generator: TaskId): NodeId[] {
  return [...model.containers.values()]
    .filter(({ open_generators }) => open_generators.has(generator))
    .map(({ id }) => id);
}

/** Returns whether every task of a tree has ended, the condition for retrying any of it. */
export function treeIsOver(model: Model, id: TaskId): boolean {
  const { workflow_id } = taskOf(model, id);
  return [...model.tasks.values()].every((task) => task.workflow_id !== workflow_id || isTerminal(task.state));
}
