import type { Confidence } from '@heddle/base/vocabulary/confidence';
import type { Encoding } from '../../result.ts';
import type { JudgedScores } from '../judge/judge.ts';

/** The line that is explained. */
export interface ExplainTarget {
  path: string;
  line: number;
}

/** What ended a match, or `reported`. */
export type MatchOutcome =
  | 'reported'
  | 'below_confidence'
  | 'entropy'
  | 'form'
  | 'empty'
  | 'judge'
  | 'inline_comment'
  | 'allow_list'
  | 'other_rule'
  | 'required_rule'
  | 'skip_report';

/** One match of a rule on the line, and what became of it. Strings are text, secrets unredacted. */
export interface ExplainedMatch {
  rule_id: string;
  match: string;
  secret: string;
  /** Outermost first; empty for plain text. */
  encodings: readonly Encoding[];
  entropy: number;
  outcome: MatchOutcome;
  /** A sentence without the secret. */
  reason: string;
  confidence: Confidence | null;
  /** For rules that are judged. */
  judge: JudgedScores | null;
}

/** A rule with a keyword on the line, and the text in which the keyword is. */
export interface KeywordHit {
  rule_id: string;
  keyword: string;
  encodings: readonly Encoding[];
  /** False for a rule that does not apply to this object, by its path or an allow list. */
  applies: boolean;
}

/** How the detection decided about one line. Plain data. */
export interface LineExplanation {
  /** Whether an allow list of the rule set exempts the whole object. */
  is_exempt: boolean;
  /** Lines that the object has, as far as it was read. */
  lines: number;
  /** The line without its end, as text; null if the object has fewer lines. */
  text: string | null;
  is_cut: boolean;
  matches: readonly ExplainedMatch[];
  /** Further matches, which are not listed. */
  matches_left_out: number;
  decoded: readonly { encodings: readonly Encoding[]; text: string }[];
  keywords: readonly KeywordHit[];
  /** Number of rules without keywords, which are tried everywhere. */
  rules_everywhere: number;
}
