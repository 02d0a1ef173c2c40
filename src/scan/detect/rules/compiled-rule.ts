import { findAnchor } from '../regex/anchor.ts';
import { CompiledRegex, HalvedRegex } from '../regex/compiled-regex.ts';
import { parseRegex } from '../regex/parse.ts';
import { CompiledAllowlist } from './compiled-allowlist.ts';
import { BEFORE_MAX, type PathRulePlan, type Placement, type RulePlan } from './rule-plan.ts';
import type { Rule } from './rule.ts';

/** A rule ready to search with; what costs time to make is made when it is used first, for most rules never are. */
export interface CompiledRule {
  rule: Rule;
  regex: CompiledRegex;
  /** Finds the secrets within a match of `regex`; null where the match itself is one. */
  each: CompiledRegex | null;
  /** Where the pattern can be cut at its anchor: quicker. */
  halves: (() => HalvedRegex) | null;
  placement: Placement;
  before: number;
  after: number;
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

export function readyPathRule({ rule, path, allowlists }: PathRulePlan): PathRule {
  return { rule, path: new CompiledRegex(path), allowlists: allowlists.map((plan) => new CompiledAllowlist(plan)) };
}

export function readyRule(plan: RulePlan): CompiledRule {
  const { rule, regex, each, placement, before, after, path, allowlists } = plan;
  const isCut = placement.type === 'anchored' && placement.cut;
  return {
    rule,
    regex: new CompiledRegex(regex),
    each: each === null ? null : new CompiledRegex(each),
    halves: isCut ? once(() => halvesOf(plan)) : null,
    placement,
    before,
    after,
    path: path === null ? null : new CompiledRegex(path),
    allowlists: allowlists.map((list) => new CompiledAllowlist(list)),
    generic: rule.tags.includes('generic') || rule.id.includes('generic'),
  };
}

function halvesOf({ rule, regex, before, after }: RulePlan): HalvedRegex {
  const { node, groups } = parseRegex(regex.pattern);
  const halves = findAnchor(node, rule.keywords, BEFORE_MAX)?.halves ?? null;
  if (halves === null) throw new Error(`rule ${rule.id}: its pattern cannot be cut where it was said to be`);
  return new HalvedRegex(halves, groups, before, after);
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
