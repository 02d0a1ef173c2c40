import type { RegexNode } from './ast.ts';
import { spanOf } from './analyse.ts';
import { type ByteSet, addSet, emptySet, intersects, setOf } from './byte-set.ts';

/**
 * Upper bounds of a backtracking engine's work for a node at one position: `steps` to try all alternatives, of which
 * `ways` reach what follows.
 */
interface Effort {
  ways: number;
  steps: number;
}

/** Bytes with which a match may continue; `open` if any other byte, or none, may follow as well. */
interface Follow {
  set: ByteSet;
  open: boolean;
}

const AT_THE_END: Follow = { set: emptySet(), open: true };

/** Returns an upper bound of the backtracking steps for one start within `window` bytes. */
export function backtrackingSteps(node: RegexNode, window: number): number {
  return effortOf(node, AT_THE_END, window).steps;
}

/** Returns what a node may begin with, if `follow` comes after it. */
function firstOf(node: RegexNode, follow: Follow): Follow {
  switch (node.type) {
    case 'empty':
      return follow;
    case 'assertion':
      // An end assertion holds in one place only: everywhere else it fails at once.
      if (node.kind === 'text_end') return { set: emptySet(), open: false };
      if (node.kind === 'line_end') return { set: setOf(0x0a), open: false };
      return follow;
    case 'set':
      return { set: node.set, open: false };
    case 'capture':
      return firstOf(node.node, follow);
    case 'sequence':
      return node.parts.reduceRight((after, part) => firstOf(part, after), follow);
    case 'choice':
      return node.branches.map((branch) => firstOf(branch, follow)).reduce(either);
    case 'repeat': {
      const inner = firstOf(node.node, follow);
      return node.min === 0 ? either(inner, follow) : inner;
    }
  }
}

function either(left: Follow, right: Follow): Follow {
  const set = Uint32Array.from(left.set);
  addSet(set, right.set);
  return { set, open: left.open || right.open };
}

function areExclusive(left: Follow, right: Follow): boolean {
  return !left.open && !right.open && !intersects(left.set, right.set);
}

function effortOf(node: RegexNode, follow: Follow, window: number): Effort {
  switch (node.type) {
    case 'empty':
    case 'set':
    case 'assertion':
      return { ways: 1, steps: 1 };
    case 'capture':
      return effortOf(node.node, follow, window);
    case 'sequence':
      return sequenceEffort(node.parts, follow, window);
    case 'choice': {
      const efforts = node.branches.map((branch) => effortOf(branch, follow, window));
      const steps = efforts.reduce((sum, effort) => sum + effort.steps, 0);
      const ways = efforts.map((effort) => effort.ways);
      const exclusive = branchesAreExclusive(node.branches);
      return { steps, ways: exclusive ? Math.max(...ways) : ways.reduce((sum, each) => sum + each, 0) };
    }
    case 'repeat':
      return repeatEffort(node, follow, window);
  }
}

function sequenceEffort(parts: readonly RegexNode[], follow: Follow, window: number): Effort {
  const follows: Follow[] = [];
  parts.reduceRight((after, part, at) => {
    follows[at] = after;
    return firstOf(part, after);
  }, follow);
  let ways = 1;
  let steps = 0;
  parts.forEach((part, at) => {
    const effort = effortOf(part, follows[at]!, window);
    steps += ways * effort.steps;
    ways *= effort.ways;
  });
  return { ways, steps };
}

function repeatEffort(node: Extract<RegexNode, { type: 'repeat' }>, follow: Follow, window: number): Effort {
  const least = spanOf(node.node).min;
  const rounds = Math.min(node.max, least === 0 ? node.max : Math.ceil(window / least));
  const first = firstOf(node.node, follow);
  const each = effortOf(node.node, node.max === 1 ? follow : either(first, follow), window);
  if (rounds === Infinity) return { ways: Infinity, steps: Infinity };
  const counts = rounds - Math.min(node.min, rounds) + 1;
  if (each.ways > 1) {
    const ways = counts * each.ways ** rounds;
    return { ways, steps: ways * each.steps };
  }
  const certain = areExclusive(first, follow) || counts === 1;
  return { ways: certain ? 1 : counts, steps: rounds * each.steps + counts };
}

/**
 * Returns whether at most one branch can match at any position: some byte at the same offset distinguishes each pair.
 */
function branchesAreExclusive(branches: readonly RegexNode[]): boolean {
  const beginnings = branches.map(leadingSets);
  return beginnings.every((left, at) => beginnings.slice(at + 1).every((right) => differ(left, right)));
}

function differ(left: readonly ByteSet[], right: readonly ByteSet[]): boolean {
  return left.some((set, at) => right[at] !== undefined && !intersects(set, right[at]));
}

/** Returns the sets of the bytes at fixed offsets that begin every match of a node. */
function leadingSets(node: RegexNode): ByteSet[] {
  switch (node.type) {
    case 'set':
      return [node.set];
    case 'capture':
      return leadingSets(node.node);
    case 'sequence': {
      const sets: ByteSet[] = [];
      for (const part of node.parts) {
        sets.push(...leadingSets(part));
        const span = spanOf(part);
        if (span.max !== span.min || leadingSets(part).length < span.max) break;
      }
      return sets;
    }
    case 'repeat': {
      if (node.min === 0) return [];
      const inner = leadingSets(node.node);
      const span = spanOf(node.node);
      if (span.min !== span.max || inner.length < span.max) return inner;
      return Array.from({ length: Math.min(node.min, 16) }, () => inner).flat();
    }
    case 'choice': {
      const all = node.branches.map(leadingSets);
      const length = Math.min(...all.map((sets) => sets.length));
      return Array.from({ length }, (_, at) => {
        const set = emptySet();
        for (const sets of all) addSet(set, sets[at]!);
        return set;
      });
    }
    case 'empty':
    case 'assertion':
      return [];
  }
}
