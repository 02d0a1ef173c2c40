/** A rule set as it was written, checked and merged; patterns are not compiled yet. */
export interface RuleSet {
  rules: readonly Rule[];
  /** Of all rules. */
  allowlists: readonly Allowlist[];
  /** Fields that nobody reads, and other things worth saying: sentences. */
  warnings: readonly string[];
}

export interface Rule {
  id: string;
  description: string;
  tags: readonly string[];
  /** Lower case. */
  keywords: readonly string[];
  /** None: the rule looks at paths only. */
  regex?: string;
  /** Within a match of `regex`, a block: each match of this is a finding, and the block itself is none. */
  each?: string;
  /** The group that holds the secret; 0: the first one that took part, or the whole match. */
  secret_group: number;
  /** Bits a character that a secret must exceed; 0: any. */
  entropy: number;
  path?: string;
  allowlists: readonly Allowlist[];
  required: readonly RequiredRule[];
  /** Not reported for itself, only looked for where another rule requires it. */
  skip_report: boolean;
  /** The rule set it was read from, for messages. */
  source: string;
}

/** Another rule that must match nearby. */
export interface RequiredRule {
  id: string;
  /** Lines, and columns, between the beginnings of both matches, at most. */
  within_lines?: number;
  within_columns?: number;
}

export type RegexTarget = 'secret' | 'match' | 'line';

/** What is let pass. */
export interface Allowlist {
  description: string;
  /** `all`: every kind of check it has must hold; `any`: one is enough. */
  condition: 'any' | 'all';
  commits: readonly string[];
  paths: readonly string[];
  regexes: readonly string[];
  regex_target: RegexTarget;
  /** Lower case. */
  stopwords: readonly string[];
}
