import type { LayoutInput } from './geometry.ts';

/** Neighbors of each node in one flat array: those of `i` are `targets[starts[i] .. starts[i + 1]]`. */
export interface Adjacency {
  starts: Int32Array;
  targets: Int32Array;
}

/** Neighbors in the direction of the edges, or against it. */
export function adjacencyOf({ count, edges }: LayoutInput, direction: 'children' | 'parents'): Adjacency {
  const from = direction === 'children' ? 0 : 1;
  const starts = new Int32Array(count + 1);
  for (let e = from; e < edges.length; e += 2) starts[edges[e]! + 1]! += 1;
  for (let i = 0; i < count; i += 1) starts[i + 1]! += starts[i]!;
  const filled = starts.slice(0, count);
  const targets = new Int32Array(edges.length / 2);
  for (let e = 0; e < edges.length; e += 2) {
    const node = edges[e + from]!;
    targets[filled[node]!] = edges[e + 1 - from]!;
    filled[node]! += 1;
  }
  return { starts, targets };
}

/** The length of the longest path to each node: its level, from zero. */
export function levelsOf(input: LayoutInput, children: Adjacency): Int32Array {
  const levels = new Int32Array(input.count);
  const open = new Int32Array(input.count);
  for (let e = 1; e < input.edges.length; e += 2) open[input.edges[e]!]! += 1;
  const queue = new Int32Array(input.count);
  let tail = 0;
  for (let i = 0; i < input.count; i += 1) if (open[i] === 0) queue[tail++] = i;
  for (let head = 0; head < tail; head += 1) {
    const node = queue[head]!;
    for (let c = children.starts[node]!; c < children.starts[node + 1]!; c += 1) {
      const child = children.targets[c]!;
      if (levels[child]! <= levels[node]!) levels[child] = levels[node]! + 1;
      open[child]! -= 1;
      if (open[child] === 0) queue[tail++] = child;
    }
  }
  return levels;
}

/** Nodes grouped into connected components, each in ascending order, the components by their first node. */
export function componentsOf({ count, edges }: LayoutInput): number[][] {
  const root = new Int32Array(count).map((_, i) => i);
  const find = (node: number): number => {
    let at = node;
    while (root[at] !== at) {
      root[at] = root[root[at]!]!;
      at = root[at]!;
    }
    return at;
  };
  for (let e = 0; e < edges.length; e += 2) {
    const a = find(edges[e]!);
    const b = find(edges[e + 1]!);
    if (a !== b) root[Math.max(a, b)] = Math.min(a, b);
  }
  const groups = new Map<number, number[]>();
  for (let i = 0; i < count; i += 1) {
    const group = groups.get(find(i));
    if (group === undefined) groups.set(find(i), [i]);
    else group.push(i);
  }
  return [...groups.values()];
}

/** Number of nodes in the fullest level, and number of levels. */
export function extentOf(levels: Int32Array): { widest: number; depth: number } {
  const sizes: number[] = [];
  for (const level of levels) sizes[level] = (sizes[level] ?? 0) + 1;
  return { widest: sizes.reduce((most, size) => Math.max(most, size), 0), depth: sizes.length };
}
