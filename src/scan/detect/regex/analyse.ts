import type { RegexNode } from './ast.ts';
import { type ByteSet, addSet, emptySet, intersects } from './byte-set.ts';

/** How many bytes a match may have; `max` is Infinity without a bound. */
export interface Span {
  min: number;
  max: number;
}

export function spanOf(node: RegexNode): Span {
  switch (node.type) {
    case 'empty':
    case 'assertion':
      return { min: 0, max: 0 };
    case 'bytes':
      return { min: 1, max: 1 };
    case 'capture':
      return spanOf(node.node);
    case 'sequence':
      return node.parts.map(spanOf).reduce((left, right) => ({ min: left.min + right.min, max: left.max + right.max }));
    case 'choice': {
      const spans = node.branches.map(spanOf);
      return { min: Math.min(...spans.map(({ min }) => min)), max: Math.max(...spans.map(({ max }) => max)) };
    }
    case 'repeat': {
      const { min, max } = spanOf(node.node);
      return { min: min * node.min, max: max === 0 || node.max === 0 ? 0 : max * node.max };
    }
  }
}

/** Whether a match without an upper bound may run over a line's end. */
export function spansLines(node: RegexNode): boolean {
  switch (node.type) {
    case 'repeat':
      return (node.max === Infinity && mayTakeNewline(node.node)) || spansLines(node.node);
    case 'capture':
      return spansLines(node.node);
    case 'sequence':
      return node.parts.some(spansLines);
    case 'choice':
      return node.branches.some(spansLines);
    default:
      return false;
  }
}

function mayTakeNewline(node: RegexNode): boolean {
  switch (node.type) {
    case 'bytes':
      return ((node.set[0]! >>> 0x0a) & 1) === 1;
    case 'repeat':
    case 'capture':
      return mayTakeNewline(node.node);
    case 'sequence':
      return node.parts.some(mayTakeNewline);
    case 'choice':
      return node.branches.some(mayTakeNewline);
    default:
      return false;
  }
}

/** Bytes that a match may begin with; all that may follow where the node may be empty. */
function firstBytes(node: RegexNode): { set: ByteSet; nullable: boolean } {
  switch (node.type) {
    case 'empty':
    case 'assertion':
      return { set: emptySet(), nullable: true };
    case 'bytes':
      return { set: node.set, nullable: false };
    case 'capture':
      return firstBytes(node.node);
    case 'repeat': {
      const inner = firstBytes(node.node);
      return { set: inner.set, nullable: inner.nullable || node.min === 0 };
    }
    case 'sequence': {
      const set = emptySet();
      for (const part of node.parts) {
        const inner = firstBytes(part);
        addSet(set, inner.set);
        if (!inner.nullable) return { set, nullable: false };
      }
      return { set, nullable: true };
    }
    case 'choice': {
      const set = emptySet();
      const inners = node.branches.map(firstBytes);
      for (const inner of inners) addSet(set, inner.set);
      return { set, nullable: inners.some(({ nullable }) => nullable) };
    }
  }
}

/** Whether at most one branch can begin at any place. */
function branchesAreDisjoint(branches: readonly RegexNode[]): boolean {
  const firsts = branches.map(firstBytes);
  if (firsts.some(({ nullable }) => nullable)) return false;
  return firsts.every(({ set }, at) => firsts.slice(at + 1).every((other) => !intersects(set, other.set)));
}

/**
 * An upper bound of the ways in which a backtracking engine may try a pattern at one start within `window` bytes: the
 * product of what every repetition and every choice leaves open. Where it is small, backtracking is safe.
 */
export function backtrackingWays(node: RegexNode, window: number): number {
  switch (node.type) {
    case 'empty':
    case 'bytes':
    case 'assertion':
      return 1;
    case 'capture':
      return backtrackingWays(node.node, window);
    case 'sequence':
      return sequenceWays(node.parts, window);
    case 'choice': {
      const ways = node.branches.map((branch) => backtrackingWays(branch, window));
      return branchesAreDisjoint(node.branches) ? Math.max(...ways) : ways.reduce((sum, each) => sum + each, 0);
    }
    case 'repeat': {
      const span = spanOf(node.node);
      const rounds = Math.min(node.max, span.min === 0 ? node.max : Math.ceil(window / span.min));
      const inner = backtrackingWays(node.node, window);
      const each = inner === 1 ? 1 : inner ** rounds;
      if (rounds === Infinity) return span.max === 0 ? 1 : Infinity;
      return (rounds - Math.min(node.min, rounds) + 1) * each;
    }
  }
}

/**
 * From the end: a part multiplies what follows it, unless what follows cannot begin with a byte the part may take; then
 * all but one of its ways fail at once, and they only add.
 */
function sequenceWays(parts: readonly RegexNode[], window: number): number {
  let ways = 1;
  let follow = { set: emptySet(), nullable: true };
  for (let at = parts.length - 1; at >= 0; at--) {
    const part = parts[at]!;
    const own = backtrackingWays(part, window);
    const first = firstBytes(part);
    const isRun = part.type === 'repeat' && part.node.type === 'bytes';
    ways = isRun && !follow.nullable && !intersects(first.set, follow.set) ? own + ways : own * ways;
    if (first.nullable) {
      const set = Uint32Array.from(first.set);
      addSet(set, follow.set);
      follow = { set, nullable: follow.nullable };
    } else follow = first;
  }
  return ways;
}
