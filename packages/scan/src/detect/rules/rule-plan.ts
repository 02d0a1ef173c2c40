import type { RegexPlan } from '../regex/compiled-regex.ts';
import type { Allowlist, Rule } from './rule.ts';

/** Bytes of a match before its anchor that are searched. */
export const BEFORE_MAX = 256;
/** Maximum distance between the start of a match and a keyword that is not part of the pattern. */
export const NEARBY = 1024;
/** Start positions per block for rules without any literal. */
export const BLOCK_STARTS = 4096;

/** Where the pattern of a rule is tried. */
export type Placement =
  /** At one of the literals that every match has in one place. */
  | {
      type: 'anchored';
      /** Lower case, as latin1. */
      literals: readonly string[];
      /** Where the literals are: `Anchor.at`. */
      at: number;
      /** What a match must have from the literal's first byte on, for JavaScript's engine. */
      filter: string;
      /** The pattern can be matched in two halves, cut at the literal, which is faster. */
      cut: boolean;
    }
  /** Near keywords that the pattern itself does not contain. */
  | { type: 'nearby'; keywords: readonly string[] }
  /** Everywhere. */
  | { type: 'everywhere' };

/** An analysed rule with a content pattern. Plain data. */
export interface RulePlan {
  rule: Rule;
  regex: RegexPlan;
  /** Finds the secrets within a match of `regex`; null if the match itself is one. */
  each: RegexPlan | null;
  placement: Placement;
  /** Maximum bytes before the hit at which a match may begin, and from the hit on that it may read. */
  before: number;
  after: number;
  path: RegexPlan | null;
  allowlists: readonly AllowlistPlan[];
  /** Of its verification. */
  companions: readonly CompanionPlan[];
}

export interface CompanionPlan {
  name: string;
  of: 'nearby' | 'match' | 'secret';
  regex: RegexPlan;
}

/** A path-only rule. */
export interface PathRulePlan {
  rule: Rule;
  path: RegexPlan;
  allowlists: readonly AllowlistPlan[];
}

export interface AllowlistPlan {
  list: Allowlist;
  paths: readonly RegexPlan[];
  regexes: readonly RegexPlan[];
}

/** Whether an allow list can exempt a whole object. */
export function looksAtObjects({ list, paths }: AllowlistPlan): boolean {
  return list.commits.length > 0 || paths.length > 0;
}

/** Whether a rule does not look at some objects, by their path or commit. */
export function isGuarded({ path, allowlists }: RulePlan): boolean {
  return path !== null || allowlists.some(looksAtObjects);
}
