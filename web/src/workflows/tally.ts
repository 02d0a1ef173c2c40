import type { Container } from '@heddle/client';
import { STATE, STATES } from '../ui/state.ts';
import type { State, Tally } from '../ui/state.ts';
import type { TreeNode } from './tree-node.ts';

type Counts = Partial<Record<State | 'open', number>>;

const KEYS: readonly (State | 'open')[] = [...STATES, 'open'];

export function sameTally(a: Tally, b: Tally): boolean {
  return KEYS.every((key) => (a[key] ?? 0) === (b[key] ?? 0));
}

interface KnownTree {
  readonly rootId: string | null;
  readonly nodes: ReadonlyMap<string, TreeNode>;
  childrenOf(id: string): readonly string[];
  readonly pages: ReadonlyMap<string, { readonly ids: readonly string[] }>;
}

/** Counts of a container, with the states that each of them includes; of children that are not known the first. */
const COUNTED: readonly [keyof Container['counts'], ...State[]][] = [
  ['succeeded', 'succeeded'],
  ['partially_failed', 'partial'],
  ['failed', 'failed', 'canceled'],
  ['timed_out', 'timeout'],
  ['disabled', 'skipped'],
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
  const tally: Counts = {};
  const children: Counts = {};
  const tasks: Counts = {};
  let known = 0;
  for (const child of knownChildren(tree, id)) {
    const node = tree.nodes.get(child);
    if (node === undefined) continue;
    known += 1;
    add(children, node.state, 1);
    if (node.type === 'task') add(tasks, node.state, 1);
    else for (const key of KEYS) add(tally, key, tallies.get(child)?.[key] ?? 0);
  }
  const self = tree.nodes.get(id);
  const counts = self?.type === 'container' ? self.counts : null;
  let omitted = Math.max(0, (counts?.children ?? 0) - known);
  // If only some are loaded, the number of running ones is unknown: all unfinished nodes count alike.
  for (const state of STATES) add(tally, omitted === 0 || STATE[state].ended ? state : 'open', tasks[state] ?? 0);
  for (const [name, ...states] of counts === null ? [] : COUNTED) {
    const seen = states.reduce((sum, state) => sum + (children[state] ?? 0), 0);
    const more = Math.min(omitted, Math.max(0, counts![name] - seen));
    add(tally, states[0]!, more);
    omitted -= more;
  }
  add(tally, 'open', omitted);
  return tally;
}

function add(counts: Counts, key: State | 'open', n: number): void {
  if (n > 0) counts[key] = (counts[key] ?? 0) + n;
}
