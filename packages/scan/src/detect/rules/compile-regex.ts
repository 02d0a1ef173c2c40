import { RegexSyntaxError } from '@heddle/base/regex/parse';
import { type RegexPlan, planRegex } from '../regex/compiled-regex.ts';
import { parseRegex } from '../regex/parse.ts';
import type { ParsedRegex } from '../regex/ast.ts';
import { ruleError } from './fields.ts';

/**
 * Nearly all paths, secrets, matches and lines are no longer than the first, most than the second. Texts beyond the one for
 * which a pattern is certainly fast in the native engine are searched by the bounded matcher.
 */
const ALL_TEXTS_BYTES = 512;
const MOST_TEXTS_BYTES = 128;

/** Adds rule, field and position to a syntax error. */
function named<T>(where: string, field: string, pattern: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof RegexSyntaxError)) throw error;
    const place = pattern.slice(error.position, error.position + 20);
    throw ruleError(
      where,
      `${field}: ${error.message} (at position ${error.position}: ${place === '' ? 'its end' : place})`,
    );
  }
}

export function parseRuleRegex(where: string, field: string, pattern: string): ParsedRegex {
  return named(where, field, pattern, () => parseRegex(pattern));
}

/** Many rules have the same exceptions. */
const shortPlans = new Map<string, RegexPlan>();
const SHORT_PLANS_MAX = 1000;

/** Plans a pattern for paths, secrets, matches or lines. */
export function planShortRegex(where: string, field: string, pattern: string): RegexPlan {
  const known = shortPlans.get(pattern);
  if (known !== undefined) return known;
  const plan = named(where, field, pattern, () => {
    const parsed = parseRegex(pattern);
    const ofAll = planRegex(pattern, parsed, ALL_TEXTS_BYTES, ALL_TEXTS_BYTES);
    const ofMost = ofAll.source === null ? planRegex(pattern, parsed, MOST_TEXTS_BYTES, MOST_TEXTS_BYTES) : ofAll;
    return ofMost.source === null ? ofAll : ofMost;
  });
  if (shortPlans.size < SHORT_PLANS_MAX) shortPlans.set(pattern, plan);
  return plan;
}

/** Runs `plan` and adds rule and field to its error. */
export function planNamed(where: string, field: string, pattern: string, plan: () => RegexPlan): RegexPlan {
  return named(where, field, pattern, plan);
}
