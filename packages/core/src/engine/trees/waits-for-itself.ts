import type { NewContainerNode } from '@heddle/base/vocabulary/workflow';
import type { FlatNode } from './flatten.ts';

/**
 * Removes the pairs of a generator and an empty container in which the generator, by the order of the sequences and by
 * the waits of other empty containers, starts only after the container has ended: neither would ever end.
 *
 * @param pairs indices of a generator and of a container in the list
 */
export function withoutCircles(
  list: readonly FlatNode[],
  pairs: readonly (readonly [generator: number, container: number])[],
): (readonly [generator: number, container: number])[] {
  if (pairs.length === 0) return [];
  const circles = circlesOf(edgesOf(list, pairs));
  return pairs.filter(([generator, container]) => circles[endOf(generator)] !== circles[endOf(container)]);
}

const startOf = (index: number): number => 2 * index;
const endOf = (index: number): number => 2 * index + 1;

/** Builds a graph of what the start and the end of each node come after. */
function edgesOf(list: readonly FlatNode[], pairs: readonly (readonly [number, number])[]): number[][] {
  const edges: number[][] = list.flatMap((_, index) => [[], [startOf(index)]]);
  const lastChild = new Map<number, number>();
  for (const [index, { parent }] of list.entries()) {
    if (parent < 0) continue;
    edges[startOf(index)]!.push(startOf(parent));
    edges[endOf(parent)]!.push(endOf(index));
    const previous = lastChild.get(parent);
    if (previous !== undefined && (list[parent]!.node as NewContainerNode).mode === 'sequential') {
      edges[startOf(index)]!.push(endOf(previous));
    }
    lastChild.set(parent, index);
  }
  for (const [generator, container] of pairs) edges[endOf(container)]!.push(endOf(generator));
  return edges;
}

/**
 * Numbers the strongly connected components: two events share one if each comes after the other. Uses Tarjan's
 * algorithm with an explicit stack, since a tree may be deeper than the call stack.
 */
function circlesOf(edges: readonly (readonly number[])[]): Int32Array {
  const order = new Int32Array(edges.length).fill(-1);
  const lowest = new Int32Array(edges.length);
  const circles = new Int32Array(edges.length).fill(-1);
  const next = new Int32Array(edges.length);
  const open: number[] = [];
  let visited = 0;
  for (let from = 0; from < edges.length; from += 1) {
    if (order[from] !== -1) continue;
    const path = [from];
    for (let at = path.at(-1); at !== undefined; at = path.at(-1)) {
      if (order[at] === -1) {
        order[at] = lowest[at] = visited;
        visited += 1;
        open.push(at);
      }
      const to = edges[at]![next[at]!];
      if (to !== undefined) {
        next[at]! += 1;
        if (order[to] === -1) path.push(to);
        else if (circles[to] === -1) lowest[at] = Math.min(lowest[at]!, order[to]!);
        continue;
      }
      path.pop();
      const above = path.at(-1);
      if (above !== undefined) lowest[above] = Math.min(lowest[above]!, lowest[at]!);
      if (lowest[at] !== order[at]) continue;
      for (let member = -1; member !== at;) {
        member = open.pop()!;
        circles[member] = at;
      }
    }
  }
  return circles;
}
