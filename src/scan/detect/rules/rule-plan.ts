import type { RegexPlan } from '../regex/compiled-regex.ts';
import type { Allowlist, Rule } from './rule.ts';

/** Bytes of a match before its anchor that are looked at. */
export const BEFORE_MAX = 256;
/** How far from a keyword that is no part of the pattern a match may begin. */
export const NEARBY = 1024;
/** Rules without any literal are looked for in blocks of so many starts. */
export const BLOCK_STARTS = 4096;

/** Where the pattern of a rule is tried. */
export type Placement =
  /** At one of the literals that every match has in one place. */
  | {
      type: 'anchored';
      /** Lower case, as latin1. */
      literals: readonly string[];
      /** What a match must have from the literal's first byte on, for JavaScript's engine. */
      filter: string;
      /** The pattern can be matched in two halves, cut at the literal: quicker. */
      cut: boolean;
    }
  /** Around keywords that the pattern itself does not promise. */
  | { type: 'nearby'; keywords: readonly string[] }
  /** Everywhere. */
  | { type: 'everywhere' };

/** A rule with a pattern of content, analysed. Plain data. */
export interface RulePlan {
  rule: Rule;
  regex: RegexPlan;
  /** What is found within a match of `regex`; null where the match itself is. */
  each: RegexPlan | null;
  placement: Placement;
  /** Bytes before the hit at which a match may begin, and from the hit on that it may look at. */
  before: number;
  after: number;
  path: RegexPlan | null;
  allowlists: readonly AllowlistPlan[];
}

/** A rule of paths only. */
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
