import type { TaskId } from '@heddle/base/ids';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import { taskOf } from './state.ts';
import type { Model, NodeId } from './state.ts';
import { containerOf, nodesBelow } from './tree.ts';
import { disable } from './tree-settle.ts';

/**
 * Disables nodes that come after a task in its sequence, with their descendants, as its success requests. Other names
 * or ids are ignored.
 */
export function disableBranch(model: Model, decider: TaskId, names: readonly string[]): void {
  const { place } = taskOf(model, decider);
  if (place === null) return;
  const sequence = containerOf(model, place.container_id);
  if (sequence.mode !== 'sequential') return;
  for (const id of sequence.children.slice(sequence.children.indexOf(decider) + 1)) {
    const name = model.tasks.get(id)?.definition.local_id ?? model.containers.get(id)?.local_id ?? null;
    if (!names.includes(id) && (name === null || !names.includes(name))) continue;
    const container = model.containers.get(id);
    if (isTerminal((container ?? taskOf(model, id)).state)) continue;
    for (const node of container === undefined ? [id] : [id, ...nodesBelow(model, container)]) {
      disable(model, node, decider);
    }
  }
}

/** Returns the task that took another branch if that is why the node is disabled; otherwise null. */
export function decidedBy(model: Model, id: NodeId): TaskId | null {
  const node = model.tasks.get(id) ?? containerOf(model, id);
  if (node.state !== 'disabled' || node.disabled_by === null) return null;
  return model.tasks.get(node.disabled_by)?.state === 'succeeded' ? node.disabled_by : null;
}
