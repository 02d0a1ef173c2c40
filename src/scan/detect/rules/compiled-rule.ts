import { spanOf, spansLines } from '../regex/analyse.ts';
import { type Anchor, findAnchor } from '../regex/anchor.ts';
import { CompiledRegex, HalvedRegex } from '../regex/compiled-regex.ts';
import { CompiledAllowlist } from './compiled-allowlist.ts';
import { compileNamed, compileShortRegex, parseRuleRegex } from './compile-regex.ts';
import { ruleError } from './fields.ts';
import type { Rule } from './rule.ts';

/** Bytes of a match before its anchor that are looked at. */
const BEFORE_MAX = 256;
/** Bytes of a match without an upper bound: on one line, and over lines. */
const LINE_SPAN_MAX = 4096;
const LINES_SPAN_MAX = 16_384;
/** How far from a keyword that is no part of the pattern a match may begin. */
const NEARBY = 1024;
/** Rules without any literal are looked for in blocks of so many starts. */
export const BLOCK_STARTS = 4096;

/** Where the pattern of a rule is tried. */
export type Placement =
  /** At one of the literals that every match has in one place. */
  | { type: 'anchored'; anchor: Anchor }
  /** Around keywords that the pattern itself does not promise. */
  | { type: 'nearby'; keywords: readonly string[] }
  /** Everywhere. */
  | { type: 'everywhere' };

/** A rule whose pattern is ready. */
export interface CompiledRule {
  rule: Rule;
  /** Its place in the set; for tables. */
  index: number;
  regex: CompiledRegex;
  /** Where the pattern can be cut at its anchor: quicker. */
  halves: (() => HalvedRegex) | null;
  placement: Placement;
  /** Bytes before the hit at which a match may begin, and from the hit on that it may look at. */
  before: number;
  after: number;
  /** Longest match from its beginning. */
  span: number;
  path: CompiledRegex | null;
  allowlists: readonly CompiledAllowlist[];
  /** Gives way to other rules that find the same secret. */
  generic: boolean;
}

/** A rule of paths only. */
export interface PathRule {
  rule: Rule;
  path: CompiledRegex;
  allowlists: readonly CompiledAllowlist[];
}

export function compilePathRule(rule: Rule): PathRule {
  const where = whereOf(rule);
  return {
    rule,
    path: compileShortRegex(where, 'path', rule.path ?? ''),
    allowlists: rule.allowlists.map((list) => new CompiledAllowlist(list, where)),
  };
}

export function compileRule(rule: Rule, index: number): CompiledRule {
  const where = whereOf(rule);
  const pattern = rule.regex ?? '';
  const parsed = parseRuleRegex(where, 'regex', pattern);
  if (rule.secret_group > parsed.groups) {
    throw ruleError(where, `secretGroup is ${rule.secret_group}, but its regex has ${parsed.groups} groups`);
  }
  const { node } = parsed;
  const span = Math.min(spanOf(node).max, spansLines(node) ? LINES_SPAN_MAX : boundedSpan(spanOf(node).max));
  const placement = placementOf(rule, node);
  const { before, after } = reach(placement, span);
  const halves = placement.type === 'anchored' ? placement.anchor.halves : null;
  const starts = placement.type === 'anchored' ? before + 1 : 2 * NEARBY;
  return {
    rule,
    index,
    regex: compileNamed(where, 'regex', pattern, () => new CompiledRegex(parsed, before + after + 2, starts)),
    halves: halves === null ? null : once(() => new HalvedRegex(halves, parsed.groups, before, after)),
    placement,
    before,
    after,
    span,
    path: rule.path === undefined ? null : compileShortRegex(where, 'path', rule.path),
    allowlists: rule.allowlists.map((list) => new CompiledAllowlist(list, where)),
    generic: rule.tags.includes('generic') || rule.id.includes('generic'),
  };
}

/** Made when it is asked for first: most rules of a set never are. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

function whereOf(rule: Rule): string {
  return `${rule.source}: rule ${rule.id}`;
}

function boundedSpan(max: number): number {
  return max === Infinity ? LINE_SPAN_MAX : LINES_SPAN_MAX;
}

function placementOf(rule: Rule, node: CompiledRegex['parsed']['node']): Placement {
  const anchor = findAnchor(node, rule.keywords, BEFORE_MAX);
  if (anchor !== null) return { type: 'anchored', anchor };
  return rule.keywords.length > 0 ? { type: 'nearby', keywords: rule.keywords } : { type: 'everywhere' };
}

/** One byte more than the span: what follows a match decides about `\b` and `$`. */
function reach(placement: Placement, span: number): { before: number; after: number } {
  switch (placement.type) {
    case 'anchored': {
      const { before, after } = placement.anchor;
      return { before: Math.min(before, BEFORE_MAX), after: Math.min(after, span) + 1 };
    }
    case 'nearby':
      return { before: NEARBY, after: NEARBY + span + 1 };
    case 'everywhere':
      return { before: 0, after: BLOCK_STARTS + span + 1 };
  }
}
