import type { Container } from '@heddle/client';
import { BAR_ORDER, NODE_STATES, isEnd } from './node-state.ts';
import type { NodeState } from './node-state.ts';
import type { TreeNode } from './tree-node.ts';

/** Unfinished nodes that were not loaded, so their state is unknown. */
export const OPEN = 'Open';

export type TallyKey = NodeState | typeof OPEN;
const TALLY_KEYS: readonly TallyKey[] = [...NODE_STATES, OPEN];
/** Final states first, so that a bar fills from the left. */
export const TALLY_BAR: readonly TallyKey[] = [...BAR_ORDER, OPEN];

/** Number of nodes in each state. */
export type Tally = Readonly<Record<TallyKey, number>>;

export function emptyTally(): Record<TallyKey, number> {
  return Object.fromEntries(TALLY_KEYS.map((key) => [key, 0])) as Record<TallyKey, number>;
}

export function sameTally(a: Tally, b: Tally): boolean {
  return TALLY_KEYS.every((key) => a[key] === b[key]);
}

export function totalOf(tally: Tally): number {
  return TALLY_KEYS.reduce((sum, key) => sum + tally[key], 0);
}

/** Number of ended nodes. */
export function endedOf(tally: Tally): number {
  return TALLY_KEYS.reduce((sum, key) => (key !== OPEN && isEnd(key) ? sum + tally[key] : sum), 0);
}

interface KnownTree {
  readonly rootId: string | null;
  readonly nodes: ReadonlyMap<string, TreeNode>;
  childrenOf(id: string): readonly string[];
  readonly pages: ReadonlyMap<string, { readonly ids: readonly string[] }>;
}

const COUNTED: readonly [NodeState, keyof Container['counts']][] = [
  ['Succeeded', 'succeeded'],
  ['PartiallyFailed', 'partially_failed'],
  ['Failed', 'failed'],
  ['Timeout', 'timed_out'],
  ['Disabled', 'disabled'],
];

/**
 * Counts tasks by state for every container, from the leaves up. Children that were not loaded are counted from their
 * container's totals, each as one.
 */
export function tallyTree(tree: KnownTree): Map<string, Tally> {
  const tallies = new Map<string, Tally>();
  for (const id of containersFirst(tree).reverse()) tallies.set(id, tallyOf(tree, id, tallies));
  return tallies;
}

function containersFirst(tree: KnownTree): string[] {
  const order: string[] = [];
  const open = tree.rootId === null ? [] : [tree.rootId];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    order.push(id);
    for (const child of knownChildren(tree, id)) if (tree.nodes.get(child)?.type === 'container') open.push(child);
  }
  return order;
}

function knownChildren(tree: KnownTree, id: string): Iterable<string> {
  const page = tree.pages.get(id);
  const first = tree.childrenOf(id);
  return page === undefined ? first : new Set([...first, ...page.ids]);
}

function tallyOf(tree: KnownTree, id: string, tallies: ReadonlyMap<string, Tally>): Tally {
  const tally = emptyTally();
  const children = emptyTally();
  const tasks = emptyTally();
  let known = 0;
  for (const child of knownChildren(tree, id)) {
    const node = tree.nodes.get(child);
    if (node === undefined) continue;
    known += 1;
    children[node.state] += 1;
    if (node.type === 'task') tasks[node.state] += 1;
    else for (const key of TALLY_KEYS) tally[key] += tallies.get(child)?.[key] ?? 0;
  }
  const self = tree.nodes.get(id);
  const counts = self?.type === 'container' ? self.counts : null;
  let omitted = Math.max(0, (counts?.children ?? 0) - known);
  // If only some are loaded, the number of running ones is unknown: all unfinished nodes count alike.
  for (const state of NODE_STATES) tally[omitted === 0 || isEnd(state) ? state : OPEN] += tasks[state];
  for (const [state, key] of counts === null ? [] : COUNTED) {
    const more = Math.min(omitted, Math.max(0, counts![key] - children[state]));
    tally[state] += more;
    omitted -= more;
  }
  tally[OPEN] += omitted;
  return tally;
}
