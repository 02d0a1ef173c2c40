import type { CompiledCompanion } from '../companions.ts';
import { beyondWords } from '../judge/beyond-words.ts';
import { cutAt, filterAt, type Halves, restAt } from '../regex/anchor.ts';
import type { RegexNode } from '../regex/ast.ts';
import { type AssignedValue, assignedValue, withValue } from '../regex/assigned-value.ts';
import { CompiledRegex, HalvedRegex } from '../regex/compiled-regex.ts';
import { parseRegex } from '../regex/parse.ts';
import { type CompiledAllowlist, readyAllowlist } from './compiled-allowlist.ts';
import { isGuarded, type PathRulePlan, type Placement, type RulePlan } from './rule-plan.ts';
import type { Rule } from './rule.ts';

/** A rule ready to search; expensive parts are created on first use, since most rules are never used. */
export interface CompiledRule {
  rule: Rule;
  regex: CompiledRegex;
  /** Finds the secrets within a match of `regex`; null if the match itself is one. */
  each: CompiledRegex | null;
  /** Set if the pattern can be cut at its anchor, which is faster. */
  halves: (() => HalvedRegex) | null;
  /** Locates the values that are judged, if that is possible without a match. */
  value: () => AssignedValue | null;
  placement: Placement;
  /** What an anchored pattern must have from its literal on: sticky, one for all literals of the rule. */
  filter: () => RegExp;
  /** All of an anchored pattern from its literal on, and the part of it that the filter has. */
  rest: () => RegexNode;
  filtered: () => RegexNode;
  /** What else has to match unless the value is words only, which is refused; null if that cannot be said. */
  beyondWords: () => RegexNode | null;
  before: number;
  after: number;
  path: CompiledRegex | null;
  allowlists: readonly CompiledAllowlist[];
  /** It does not look at some objects, by their path or commit. */
  guarded: boolean;
  /** What its verification needs besides the secret. */
  companions: () => readonly CompiledCompanion[];
  /** Yields to other rules that find the same secret. */
  generic: boolean;
}

/** A path-only rule. */
export interface PathRule {
  rule: Rule;
  path: CompiledRegex;
  allowlists: readonly CompiledAllowlist[];
}

export function readyPathRule({ rule, path, allowlists }: PathRulePlan): PathRule {
  return { rule, path: new CompiledRegex(path), allowlists: allowlists.map(readyAllowlist) };
}

export function readyRule(plan: RulePlan): CompiledRule {
  const { rule, regex, each, placement, before, after, path, allowlists, companions } = plan;
  const isCut = placement.type === 'anchored' && placement.cut;
  const node = once(() => parseRegex(regex.pattern).node);
  const halves = once(() => halvesOf(plan, node()));
  // Only if the match begins at the anchor.
  const hasValue = (): boolean => rule.judged && isCut && halves().before.type === 'empty';
  return {
    rule,
    regex: new CompiledRegex(regex),
    each: each === null ? null : new CompiledRegex(each),
    halves: isCut ? once(() => halvedRegex(plan, halves())) : null,
    value: once(() => (hasValue() ? assignedValue(halves().after, rule.secret_group) : null)),
    placement,
    filter: once(() => filterOf(plan)),
    rest: () => restAt(node(), anchorOf(plan)),
    filtered: () => filterAt(node(), anchorOf(plan)),
    beyondWords: () => (hasValue() ? withValue(halves().after, rule.secret_group, beyondWords) : null),
    before,
    after,
    path: path === null ? null : new CompiledRegex(path),
    allowlists: allowlists.map(readyAllowlist),
    guarded: isGuarded(plan),
    companions: once(() => companions.map((each) => ({ ...each, regex: new CompiledRegex(each.regex) }))),
    generic: rule.judged || rule.tags.includes('generic') || rule.id.includes('generic'),
  };
}

function filterOf({ rule, placement }: RulePlan): RegExp {
  if (placement.type !== 'anchored') throw new Error(`rule ${rule.id}: only an anchored rule has a filter`);
  return new RegExp(placement.filter, 'y');
}

function anchorOf({ rule, placement }: RulePlan): number {
  if (placement.type !== 'anchored') throw new Error(`rule ${rule.id}: its pattern has no anchor`);
  return placement.at;
}

function halvesOf(plan: RulePlan, node: RegexNode): Halves {
  const halves = cutAt(node, anchorOf(plan));
  if (halves === null) throw new Error(`rule ${plan.rule.id}: its pattern cannot be cut at the planned anchor`);
  return halves;
}

function halvedRegex({ regex, before, after }: RulePlan, halves: Halves): HalvedRegex {
  return new HalvedRegex(halves, regex.groups, before, after);
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made === undefined ? (made = make()) : made);
}
