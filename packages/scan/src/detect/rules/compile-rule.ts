import { spanOf, spansLines } from '../regex/analyse.ts';
import { cutAt, filterSource, findAnchor } from '../regex/anchor.ts';
import type { ParsedRegex, RegexNode } from '../regex/ast.ts';
import { planRegex, type RegexPlan } from '../regex/compiled-regex.ts';
import { planNamed, parseRuleRegex, planShortRegex } from './compile-regex.ts';
import { ruleError } from './fields.ts';
import {
  type AllowlistPlan,
  BEFORE_MAX,
  BLOCK_STARTS,
  type CompanionPlan,
  NEARBY,
  type PathRulePlan,
  type Placement,
  type RulePlan,
} from './rule-plan.ts';
import type { Allowlist, Rule } from './rule.ts';

/** Assumed bytes of an unbounded match: on one line, and across lines. */
const LINE_SPAN_MAX = 4096;
const LINES_SPAN_MAX = 16_384;

/** A match with the text around it is seldom longer; longer texts are searched by the bounded matcher. */
const COMPANION_TEXT_BYTES = 8192;

export function compilePathRule(rule: Rule): PathRulePlan {
  const where = whereOf(rule);
  return {
    rule,
    path: planShortRegex(where, 'path', rule.path ?? ''),
    allowlists: rule.allowlists.map((list) => compileAllowlist(list, where)),
  };
}

/** Analyses the pattern of a rule. Throws HeddleError with rule and field if it cannot be used. */
export function compileRule(rule: Rule): RulePlan {
  const where = whereOf(rule);
  const pattern = rule.regex ?? '';
  const parsed = parseRuleRegex(where, 'regex', pattern);
  const parsedEach = rule.each === undefined ? null : parseRuleRegex(where, 'each', rule.each);
  const { groups } = parsedEach ?? parsed;
  if (rule.secret_group > groups) {
    const field = parsedEach === null ? 'regex' : 'each';
    throw ruleError(where, `secretGroup is ${rule.secret_group}, but its ${field} has ${groups} groups`);
  }
  const { node } = parsed;
  const span = Math.min(spanOf(node).max, spansLines(node) ? LINES_SPAN_MAX : boundedSpan(spanOf(node).max));
  const { placement, before, after } = place(rule, node, span);
  const starts = placement.type === 'anchored' ? before + 1 : 2 * NEARBY;
  return {
    rule,
    regex: planNamed(where, 'regex', pattern, () => planRegex(pattern, parsed, before + after + 2, starts)),
    each: parsedEach === null ? null : planEach(where, rule.each ?? '', parsedEach, before + after),
    placement,
    before,
    after,
    path: rule.path === undefined ? null : planShortRegex(where, 'path', rule.path),
    allowlists: rule.allowlists.map((list) => compileAllowlist(list, where)),
    companions: planCompanions(rule, where),
  };
}

function planCompanions({ verify }: Rule, where: string): CompanionPlan[] {
  if (typeof verify !== 'object') return [];
  return verify.companions.map(({ name, of, regex }) => {
    const parsed = parseRuleRegex(where, `verify: companions: ${name}`, regex);
    return { name, of, regex: planRegex(regex, parsed, COMPANION_TEXT_BYTES, COMPANION_TEXT_BYTES) };
  });
}

/** Plans the search of a block from its beginning to the end. */
function planEach(where: string, pattern: string, parsed: ParsedRegex, blockMax: number): RegexPlan {
  return planNamed(where, 'each', pattern, () => planRegex(pattern, parsed, blockMax + 2, blockMax));
}

export function compileAllowlist(list: Allowlist, where: string): AllowlistPlan {
  return {
    list,
    paths: list.paths.map((pattern) => planShortRegex(where, 'paths of an allow list', pattern)),
    regexes: list.regexes.map((pattern) => planShortRegex(where, 'regexes of an allow list', pattern)),
  };
}

function whereOf(rule: Rule): string {
  return `${rule.source}: rule ${rule.id}`;
}

function boundedSpan(max: number): number {
  return max === Infinity ? LINE_SPAN_MAX : LINES_SPAN_MAX;
}

/** Adds one byte to the span: what follows a match decides about `\b` and `$`. */
function place(rule: Rule, node: RegexNode, span: number): { placement: Placement; before: number; after: number } {
  const anchor = findAnchor(node, rule.keywords, BEFORE_MAX);
  if (anchor !== null) {
    const { at, literals } = anchor;
    return {
      placement: { type: 'anchored', literals, at, filter: filterSource(node, at), cut: cutAt(node, at) !== null },
      before: Math.min(anchor.before, BEFORE_MAX),
      after: Math.min(anchor.after, span) + 1,
    };
  }
  if (rule.keywords.length > 0)
    return { placement: { type: 'nearby', keywords: rule.keywords }, before: NEARBY, after: NEARBY + span + 1 };
  return { placement: { type: 'everywhere' }, before: 0, after: BLOCK_STARTS + span + 1 };
}
