import type { Output } from '@heddle/base/terminal/output';
import { count } from '@heddle/base/terminal/text';
import type { KeywordHit } from '../../detect/explain/line-explanation.ts';
import type { JudgedScores } from '../../detect/judge/judge.ts';
import { shortened, visible } from '../../report/visible.ts';
import type { Explanation, PlaceMatch, PlaceOutcome } from './explanation.ts';

const CHARACTERS_MAX = 160;
const KEYWORDS_SHOWN = 12;
/** Smaller differences of the judge's score are noise. */
const DIFFERENCE_MIN = 0.05;

const TITLES: Readonly<Record<PlaceOutcome, string>> = {
  reported: 'reported',
  below_confidence: 'not certain enough',
  ignored: 'suppressed',
  known: 'known',
  entropy: 'too little entropy',
  form: 'no form of a secret',
  empty: 'no secret in the match',
  judge: 'no secret',
  inline_comment: 'exempt by a comment',
  allow_list: 'exempt by an allow list',
  other_rule: 'reported by another rule',
  required_rule: 'a required rule is missing',
  skip_report: 'not reported by itself',
};

/** Writes an explanation for people. */
export function writeExplanation(output: Output, explained: Explanation): void {
  const { path, line, text, obstacles, matches, matches_left_out, decoded, example_rule, next } = explained;
  output.line(output.paint('bold', visible(`${path}:${line}`)));
  if (text !== null) output.line(`  ${visible(shortened(text, CHARACTERS_MAX))}`);
  for (const obstacle of obstacles) output.line(`${output.paint('yellow', '!')} ${visible(obstacle)}`);
  for (const match of matches) writeMatch(output, match);
  if (matches_left_out > 0) output.line(`  and ${count(matches_left_out, 'further match', 'further matches')}`);
  for (const { encodings, text: each } of decoded)
    output.line(`decoded ${encodings.join(', then ')}: ${visible(shortened(each, CHARACTERS_MAX))}`);
  writeKeywords(output, explained);
  if (matches.length === 0 && text !== null) output.line('No rule matches on this line.');
  if (example_rule !== null) {
    output.line('A rule that would find it:');
    for (const each of example_rule.split('\n')) output.line(`    ${visible(each)}`.trimEnd());
  }
  for (const step of next) output.line(`${output.paint('bold', 'next:')} ${visible(step)}`);
}

function writeMatch(output: Output, match: PlaceMatch): void {
  const { rule_id, outcome, reason, confidence, secret, encodings, entropy, judge, fingerprint, key_path } = match;
  const isReported = outcome === 'reported';
  const sign = isReported ? output.paint('red', '✖') : output.paint('gray', '-');
  const certain = confidence === null ? '' : ` (${confidence} confidence)`;
  output.line(`${sign} ${visible(rule_id)}: ${TITLES[outcome]}${certain}`);
  const fields: [string, string][] = [['why', visible(reason)]];
  if (secret !== '') {
    const measured = entropy > 0 ? ` (entropy ${entropy.toFixed(1)})` : '';
    fields.push(['secret', `${visible(shortened(secret, CHARACTERS_MAX))}${measured}`]);
  }
  if (key_path !== null) fields.push(['key', visible(key_path)]);
  if (encodings.length > 0) fields.push(['encoded', encodings.join(', then ')]);
  if (judge !== null) fields.push(...judgeFields(judge));
  if (fingerprint !== null) fields.push(['fingerprint', fingerprint]);
  for (const [name, value] of fields) output.line(`    ${output.paint('gray', name.padEnd(11))} ${value}`);
}

function judgeFields(judge: JudgedScores): [string, string][] {
  const { score, least, name } = judge;
  const levels = Object.entries(least).map(([confidence, minimum]) => `${confidence} from ${minimum}`);
  const named = name === '' ? 'that it has no name' : `the name ${visible(name)}`;
  return [
    ['score', `${shown(score)} of 1 (${levels.reverse().join(', ')})`],
    ...sideField(score, judge.without_name, name === '' ? null : `${named}: without it ${shown(judge.without_name)}`),
    ...sideField(score, judge.with_random_value, `the value: if it were random ${shown(judge.with_random_value)}`),
    ...sideField(score, judge.in_env_file, `the place: in an environment file ${shown(judge.in_env_file)}`),
  ];
}

/** What would raise the score if it were different speaks against a secret. */
function sideField(score: number, other: number, text: string | null): [string, string][] {
  if (text === null || Math.abs(score - other) < DIFFERENCE_MIN) return [];
  return [[other > score ? 'against' : 'for', text]];
}

function shown(score: number): string {
  return score.toFixed(2);
}

function writeKeywords(output: Output, { keywords, rules_everywhere }: Explanation): void {
  const applying = keywords.filter(({ applies }) => applies);
  const others = keywords.filter(({ applies }) => !applies);
  if (applying.length > 0) output.line(`keywords, but no match: ${listed(applying)}`);
  if (others.length > 0) output.line(`keywords of rules that do not apply to this path: ${listed(others)}`);
  if (rules_everywhere > 0) output.line(`${count(rules_everywhere, 'rule')} without keywords tried everywhere`);
}

function listed(keywords: readonly KeywordHit[]): string {
  const names = keywords
    .slice(0, KEYWORDS_SHOWN)
    .map(({ rule_id, keyword }) => `${visible(rule_id)} ("${visible(keyword)}")`);
  const rest = keywords.length - names.length;
  return `${names.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
