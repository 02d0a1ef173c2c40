import type { RegexNode } from './ast.ts';

/** The length of a match in bytes; `max` is Infinity if unbounded. */
export interface Span {
  min: number;
  max: number;
}

export function spanOf(node: RegexNode): Span {
  switch (node.type) {
    case 'empty':
    case 'assertion':
      return { min: 0, max: 0 };
    case 'set':
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

/** Returns whether an unbounded match may cross a line end. */
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
    case 'empty':
    case 'set':
    case 'assertion':
      return false;
  }
}

function mayTakeNewline(node: RegexNode): boolean {
  switch (node.type) {
    case 'set':
      return ((node.set[0]! >>> 0x0a) & 1) === 1;
    case 'repeat':
    case 'capture':
      return mayTakeNewline(node.node);
    case 'sequence':
      return node.parts.some(mayTakeNewline);
    case 'choice':
      return node.branches.some(mayTakeNewline);
    case 'empty':
    case 'assertion':
      return false;
  }
}

/**
 * Returns whether something possibly empty is repeated: there JavaScript prefers other matches than RE2, because it
 * discards an iteration that consumes nothing.
 */
export function repeatsEmpty(node: RegexNode): boolean {
  switch (node.type) {
    case 'repeat':
      return (node.max > node.min && spanOf(node.node).min === 0) || repeatsEmpty(node.node);
    case 'capture':
      return repeatsEmpty(node.node);
    case 'sequence':
      return node.parts.some(repeatsEmpty);
    case 'choice':
      return node.branches.some(repeatsEmpty);
    case 'empty':
    case 'set':
    case 'assertion':
      return false;
  }
}

/** Returns whether every match begins where the text does. */
export function beginsWithText(node: RegexNode): boolean {
  switch (node.type) {
    case 'assertion':
      return node.kind === 'text_start';
    case 'capture':
      return beginsWithText(node.node);
    case 'sequence':
      return node.parts.length > 0 && beginsWithText(node.parts[0]!);
    case 'choice':
      return node.branches.every(beginsWithText);
    case 'repeat':
      return node.min > 0 && beginsWithText(node.node);
    case 'empty':
    case 'set':
      return false;
  }
}
