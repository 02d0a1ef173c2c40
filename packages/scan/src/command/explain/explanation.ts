import { count } from '@heddle/base/terminal/text';
import type { Baseline } from '../../baseline/baseline.ts';
import type { IgnoreList } from '../../baseline/ignore-list.ts';
import type {
  ExplainedMatch,
  KeywordHit,
  LineExplanation,
  MatchOutcome,
} from '../../detect/explain/line-explanation.ts';
import type { ScanOptions } from '../../options.ts';
import { redactFinding, redactSecret } from '../../report/redact.ts';
import type { Encoding, Finding, Problem } from '../../result.ts';
import { exampleRule } from './example-rule.ts';
import { maskedText } from './masked-text.ts';

/** What became of a match: also what the lists of known findings say of it. */
export type PlaceOutcome = MatchOutcome | 'ignored' | 'known';

export interface PlaceMatch extends Omit<ExplainedMatch, 'outcome'> {
  outcome: PlaceOutcome;
  fingerprint: string | null;
  key_path: string | null;
}

/** How the scan decides about one line; secrets are redacted unless they were asked for. */
export interface Explanation {
  path: string;
  line: number;
  text: string | null;
  /** What keeps the object, or part of it, out of a scan. */
  obstacles: readonly string[];
  /** Reported ones first. */
  matches: readonly PlaceMatch[];
  matches_left_out: number;
  /** Rules with a keyword there whose pattern does not match. */
  keywords: readonly KeywordHit[];
  rules_everywhere: number;
  decoded: readonly { encodings: readonly Encoding[]; text: string }[];
  /** What to do, a sentence each. */
  next: readonly string[];
  /** A rule in TOML that finds what looks like a secret on the line, if no rule does. */
  example_rule: string | null;
}

export interface ExplanationParts {
  place: { path: string; line: number };
  asked: Finding | null;
  /** Those of the object, in order. */
  findings: readonly Finding[];
  problems: readonly Problem[];
  explained: LineExplanation | null;
  filters: readonly string[];
  options: Pick<ScanOptions, 'confidence'>;
  ignored: IgnoreList;
  baseline: Baseline | null;
  showSecrets: boolean;
}

export function explanationOf(parts: ExplanationParts): Explanation {
  const { place, explained, showSecrets } = parts;
  const matches = matchesOf(parts);
  const text = explained?.text ?? null;
  const secrets = matches.map(({ secret }) => secret);
  const shown = (each: string): string => (showSecrets ? each : maskedText(each, secrets, explained?.decoded ?? []));
  const matched = new Set(matches.map(({ rule_id }) => rule_id));
  const isFound = matches.some(({ outcome }) => ['reported', 'ignored', 'known', 'below_confidence'].includes(outcome));
  const example = text === null || isFound ? null : exampleRule(text, place.path);
  return {
    ...place,
    text: text === null ? null : shown(text),
    obstacles: obstaclesOf(parts),
    matches: matches.map((match) => ({
      ...match,
      match: shown(match.match),
      secret: showSecrets || match.secret === '' ? match.secret : redactSecret(match.secret),
    })),
    matches_left_out: explained?.matches_left_out ?? 0,
    keywords: (explained?.keywords ?? []).filter(({ rule_id }) => !matched.has(rule_id)),
    rules_everywhere: explained?.rules_everywhere ?? 0,
    decoded: (explained?.decoded ?? []).map(({ encodings, text: decoded }) => ({ encodings, text: shown(decoded) })),
    next: nextSteps(matches, example !== null),
    example_rule: example,
  };
}

function obstaclesOf({ place, problems, explained, filters, findings }: ExplanationParts): string[] {
  const obstacles = [...filters, ...problems.map(({ path, message }) => `${path}: ${message}`)];
  if (explained?.is_exempt === true) obstacles.push('an allow list of the rules exempts the whole file');
  if (explained === null && problems.length === 0 && findings.length === 0) {
    obstacles.push(
      place.path.includes('!')
        ? 'no entry of this name was scanned: check the name, or whether any rule applies to its path'
        : 'it was not scanned as text: it is an archive (name an entry: FILE!ENTRY:LINE), not among the sources, or no rule applies to its path',
    );
  }
  if (explained !== null && explained.text === null && !explained.is_exempt)
    obstacles.push(`it has ${count(explained.lines, 'line')}, not ${place.line}`);
  if (explained?.is_cut === true) obstacles.push('of a long line only the first 4,096 bytes are shown');
  return obstacles;
}

function matchesOf(parts: ExplanationParts): PlaceMatch[] {
  const { place, explained, asked } = parts;
  const taken = new Set<ExplainedMatch>();
  const all = explained?.matches ?? [];
  const found = decidedFindings(parts)
    .filter(({ finding }) => finding.line <= place.line && place.line <= finding.end_line)
    .filter(({ finding }) => asked === null || asked.fingerprint === finding.fingerprint)
    .map(({ finding, outcome }): PlaceMatch => {
      const match = all.find((each) => each.outcome === 'reported' && !taken.has(each) && isOf(each, finding));
      if (match !== undefined) taken.add(match);
      const reason = outcomeReason(outcome, finding);
      const { fingerprint, rule_id, match: text, secret, encodings, entropy, confidence } = finding;
      const own = { rule_id, match: text, secret, encodings, entropy, confidence, reason, outcome };
      return { ...own, judge: match?.judge ?? null, fingerprint, key_path: redactFinding(finding).key_path ?? null };
    });
  const dropped = all
    .filter((each) => !taken.has(each))
    .filter((each) => asked === null || (each.rule_id === asked.rule_id && each.secret === asked.secret))
    .filter(({ outcome }) => outcome !== 'reported')
    .map((each): PlaceMatch => ({ ...each, fingerprint: null, key_path: null }));
  return [...found, ...dropped];
}

/** Applies the lists of known findings in the order of the object, since a baseline counts. */
function decidedFindings({ findings, ignored, baseline }: ExplanationParts): {
  finding: Finding;
  outcome: PlaceOutcome;
}[] {
  return findings.map((finding) => {
    if (ignored.has(finding)) return { finding, outcome: 'ignored' };
    return { finding, outcome: baseline?.take(finding) === true ? 'known' : 'reported' };
  });
}

function isOf({ rule_id, secret, match }: ExplainedMatch, finding: Finding): boolean {
  return rule_id === finding.rule_id && secret === finding.secret && match === finding.match;
}

function outcomeReason(outcome: PlaceOutcome, finding: Finding): string {
  const { confidence_reason } = redactFinding(finding);
  if (outcome === 'ignored')
    return `a list of fingerprints suppresses it; else ${finding.confidence}: ${confidence_reason}`;
  if (outcome === 'known') return `the baseline lists it; else ${finding.confidence}: ${confidence_reason}`;
  return confidence_reason;
}

const REMEDIES: Readonly<Record<PlaceOutcome, string | null>> = {
  reported: 'revoke and reissue a real secret; heddle:allow in a comment on the line accepts it',
  below_confidence: '--confidence low reports it',
  ignored: 'remove its fingerprint from .heddleignore or --ignore-file to report it',
  known: 'remove it from the baseline, or scan without --baseline, to report it',
  inline_comment: '--no-inline-ignores reports it, or remove the comment',
  allow_list: 'change the allow list of the rule to report it',
  entropy: 'lower the entropy of the rule to report it',
  form: null,
  judge: null,
  empty: null,
  other_rule: null,
  required_rule: null,
  skip_report: null,
};

function nextSteps(matches: readonly PlaceMatch[], hasExample: boolean): string[] {
  const steps = matches.flatMap(({ outcome }) => REMEDIES[outcome] ?? []);
  if (hasExample) {
    steps.push(
      'if it is a secret, add a rule for it to .heddle-scan.toml, such as the one above, and check it with this command',
    );
  }
  return [...new Set(steps)];
}
