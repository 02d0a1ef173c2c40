import type { Confidence } from '@heddle/base/vocabulary/confidence';
import type { ChecksumName } from './checksum.ts';
import type { VerificationSpec } from './verification-spec.ts';

/** A rule set as written, validated and merged; patterns are not compiled yet. */
export interface RuleSet {
  rules: readonly Rule[];
  /** Of all rules. */
  allowlists: readonly Allowlist[];
  /** Warnings, such as unknown fields: sentences. */
  warnings: readonly string[];
}

export interface Rule {
  id: string;
  description: string;
  tags: readonly string[];
  /** Lower case. */
  keywords: readonly string[];
  /** Absent: the rule matches paths only. */
  regex?: string;
  /** Applied within a block that `regex` matches: each match of this pattern is a finding, the block itself is not. */
  each?: string;
  /** The group that contains the secret; 0: the first one that took part, or the whole match. */
  secret_group: number;
  /** Bits per character that a secret must exceed; 0: any. */
  entropy: number;
  /** Of its findings; absent: high if the secret itself contains one of the keywords, else medium. */
  confidence?: Confidence;
  /** What a match assigns is judged by value, name and place: it may be no finding, or one of any confidence. */
  judged: boolean;
  /** The name that a judged value has by its place alone, such as the last argument of a call that logs in. */
  judged_as?: string;
  path?: string;
  /** Only the name before a secret says whose it is: another rule that recognizes the same secret is preferred. */
  by_name?: true;
  /** How the secret proves that it was not made up. */
  checksum?: ChecksumName;
  /** Address of the provider's documentation. */
  docs?: string;
  /** How its secrets are verified; a name until the sets are merged. */
  verify?: string | VerificationSpec;
  allowlists: readonly Allowlist[];
  required: readonly RequiredRule[];
  /** Not reported itself, only searched for because another rule requires it. */
  skip_report: boolean;
  /** The rule set it was read from, for messages. */
  source: string;
}

/** Another rule that must match nearby. */
export interface RequiredRule {
  id: string;
  /** Maximum lines and columns between the starts of both matches. */
  within_lines?: number;
  within_columns?: number;
}

export type RegexTarget = 'secret' | 'match' | 'line';

/** Exempts findings or whole objects. */
export interface Allowlist {
  description: string;
  /** `all`: every kind of check it has must match; `any`: one is enough. */
  condition: 'any' | 'all';
  commits: readonly string[];
  paths: readonly string[];
  regexes: readonly string[];
  regex_target: RegexTarget;
  /** Lower case. */
  stopwords: readonly string[];
}
