import type { Graph } from './subject.ts';

/** 1 -> width -> 1. */
export function fanOut(width: number): Graph {
  const middle = Array.from({ length: width }, () => [0]);
  return [[], ...middle, Array.from({ length: width }, (_, at) => at + 1)];
}

/** Each task depends on the previous one. */
export function chain(length: number): Graph {
  return Array.from({ length }, (_, at) => (at === 0 ? [] : [at - 1]));
}

/** `count` workflows of 1 -> size - 2 -> 1. */
export function diamonds(count: number, size: number): Graph[] {
  const one = fanOut(size - 2);
  return Array.from({ length: count }, () => one);
}

export function taskCount(graphs: readonly Graph[]): number {
  return graphs.reduce((sum, graph) => sum + graph.length, 0);
}

/**
 * The same workflow as a tree, for systems in which a task has at most one dependent: every task keeps only its first
 * dependent. Returns the remaining parents of each task.
 */
export function asTree(graph: Graph): number[][] {
  const taken = new Set<number>();
  const tree: number[][] = graph.map(() => []);
  graph.forEach((parents, at) => {
    for (const parent of parents) {
      if (taken.has(parent)) continue;
      taken.add(parent);
      tree[at]!.push(parent);
    }
  });
  return tree;
}

/** Splits a list into chunks of at most `size`. */
export function chunks<T>(items: readonly T[], size: number): T[][] {
  const result: T[][] = [];
  for (let at = 0; at < items.length; at += size) result.push(items.slice(at, at + size));
  return result;
}
