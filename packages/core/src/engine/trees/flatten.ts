import { HeddleError } from '@heddle/base/errors';
import type { NewContainerNode, NewNode, NewTaskNode } from '@heddle/base/vocabulary/workflow';
import { withoutCircles } from './waits-for-itself.ts';

/** Tree as a list: parents before children, siblings in order. */
export interface FlatNode {
  node: NewNode;
  /** Index of the parent in the list; -1 for the first. */
  parent: number;
  /** Position among its siblings. */
  position: number;
  /** Index after its last descendant. */
  end: number;
}

/** Maximum number of pairs of a generator and an empty container that it may fill, per submission. */
const GENERATOR_PAIRS_MAX = 100_000;

/** Works without recursion, since a tree may be deeper than the call stack. */
export function flatten(root: NewNode): FlatNode[] {
  const list: FlatNode[] = [];
  const stack: { node: NewNode; parent: number; position: number }[] = [{ node: root, parent: -1, position: 0 }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const index = list.length;
    list.push({ ...next, end: index + 1 });
    if (next.node.type === 'task') continue;
    const { children } = next.node;
    for (let at = children.length - 1; at >= 0; at -= 1) {
      stack.push({ node: children[at]!, parent: index, position: at });
    }
  }
  for (let index = list.length - 1; index > 0; index -= 1) {
    const parent = list[list[index]!.parent]!;
    parent.end = Math.max(parent.end, list[index]!.end);
  }
  return list;
}

export function idOf({ node }: { node: NewNode }): string {
  return node.type === 'container' ? node.id : node.task.id;
}

/** Submitter's name of the node. */
export function localIdOf({ node }: { node: NewNode }): string | null {
  return node.type === 'container' ? node.local_id : node.task.local_id;
}

export function isContainer(flat: FlatNode): flat is FlatNode & { node: NewContainerNode } {
  return flat.node.type === 'container';
}

export function isTask(flat: FlatNode): flat is FlatNode & { node: NewTaskNode } {
  return flat.node.type === 'task';
}

/**
 * Returns which generators keep which empty containers from ending: those that may run while the container is open,
 * since the closest common container runs its children in parallel. A generator that waits for the container is not one
 * of them.
 */
export function generatorPairsOf(list: readonly FlatNode[]): [generator: string, container: string][] {
  const generators = list.flatMap((flat, index) =>
    isTask(flat) && flat.node.generates && !flat.node.disabled ? [index] : [],
  );
  const pairs: [number, number][] = [];
  if (generators.length === 0) return [];
  for (const [index, flat] of list.entries()) {
    if (!isContainer(flat) || flat.node.children.length > 0) continue;
    let below = index;
    for (let at = flat.parent; at >= 0; at = list[at]!.parent) {
      const above = list[at]!;
      const inBranch = (generator: number): boolean => generator >= below && generator < list[below]!.end;
      if ((above.node as NewContainerNode).mode === 'parallel') {
        for (const generator of generators) {
          if (generator <= at || generator >= above.end || inBranch(generator)) continue;
          pairs.push([generator, index]);
        }
        if (pairs.length > GENERATOR_PAIRS_MAX) throw tooManyGeneratorPairs();
      }
      below = at;
    }
  }
  return withoutCircles(list, pairs).map(([generator, container]) => [idOf(list[generator]!), idOf(list[container]!)]);
}

function tooManyGeneratorPairs(): HeddleError {
  return new HeddleError('VALIDATION_FAILED', undefined, {
    details: [
      `root: has more than ${GENERATOR_PAIRS_MAX} pairs of a generator and an empty container beside it; ` +
        'let the generators create their containers instead',
    ],
  });
}
