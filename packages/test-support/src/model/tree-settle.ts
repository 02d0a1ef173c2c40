import { restingState } from './readiness.ts';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import type { Model, ModelContainer, NodeId } from './state.ts';
import {
  childNodes,
  containerOf,
  countChildren,
  hasEnded,
  isSealed,
  nodesBelow,
  openGenerators,
  standsAt,
  stateByChildren,
} from './tree.ts';

/**
 * Walks the trees until nothing changes any more: ready nodes open, finished ones end, sequences go on or stop. Ends
 * come before the steps of sequences, and all sequences step at once, so that nothing depends on an order among them.
 */
export function settleTrees(model: Model): void {
  do openContainers(model);
  while (endContainers(model) || stepSequences(model));
  for (const task of model.tasks.values()) {
    if (task.place !== null && task.state === 'waiting') task.state = restingState(isSealed(model, task) ? 1 : 0);
  }
}

/** A root may always start, and with a parallel container all of its children. */
function openContainers(model: Model): void {
  const open = (container: ModelContainer): void => {
    if (container.state === 'waiting') container.state = 'running';
    if (container.state !== 'running' || container.mode !== 'parallel') return;
    for (const child of containersIn(model, container)) open(child);
  };
  const visit = (container: ModelContainer): void => {
    if (container.parent_id === null || container.state === 'running') open(container);
    for (const child of containersIn(model, container)) visit(child);
  };
  for (const container of model.containers.values()) if (container.parent_id === null) visit(container);
}

function containersIn(model: Model, container: ModelContainer): ModelContainer[] {
  return container.children.flatMap((id) => model.containers.get(id) ?? []);
}

/**
 * Ends containers that need no step: parallel ones, and unopened ones whose children have all ended. No generator may
 * be able to add more children.
 */
function endContainers(model: Model): boolean {
  const over = [...model.containers.values()].filter((container) => {
    if (isTerminal(container.state)) return false;
    if (container.state === 'running' ? container.mode === 'sequential' : container.children.length === 0) return false;
    return countChildren(model, container).open === 0 && openGenerators(model, container).length === 0;
  });
  for (const container of over) container.state = stateByChildren(model, container);
  return over.length > 0;
}

/** Advances each open sequence: opens its next child, stops, or ends. */
function stepSequences(model: Model): boolean {
  const steps = [...model.containers.values()]
    .filter((container) => container.state === 'running' && container.mode === 'sequential')
    .flatMap((container) => nextStep(model, container) ?? []);
  for (const step of steps) step();
  return steps.length > 0;
}

function nextStep(model: Model, sequence: ModelContainer): (() => void) | null {
  const at = standsAt(model, sequence);
  if (at === undefined) {
    if (openGenerators(model, sequence).length > 0) return null;
    const state = stateByChildren(model, sequence);
    return () => void (sequence.state = state);
  }
  if (hasEnded(at)) return () => stop(model, sequence, at.id);
  if (at.state !== 'waiting' || !model.containers.has(at.id)) return null;
  return () => void (containerOf(model, at.id).state = 'running');
}

/** A sequence met an end that it does not tolerate: nothing after it runs. */
function stop(model: Model, sequence: ModelContainer, cause: NodeId): void {
  const later = childNodes(model, sequence).slice(sequence.children.indexOf(cause) + 1);
  for (const { id } of later.filter((child) => !hasEnded(child))) {
    const below = model.containers.get(id);
    for (const node of below === undefined ? [id] : [id, ...nodesBelow(model, below)]) disable(model, node, cause);
  }
  sequence.state = 'failed';
}

/** Skips open nodes and records the node that caused it. */
export function disable(model: Model, id: NodeId, cause: NodeId): void {
  const node = model.tasks.get(id) ?? containerOf(model, id);
  if (isTerminal(node.state)) return;
  node.state = 'disabled';
  node.disabled_by = cause;
  if ('paused_at' in node) node.paused_at = null;
}
