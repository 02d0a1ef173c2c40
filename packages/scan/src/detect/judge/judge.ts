import { readFileSync } from 'node:fs';

import { type Confidence, isAtLeast } from '@heddle/base/vocabulary/confidence';
import type { Candidate } from '../matches.ts';
import { checksumHolds } from '../rules/checksum.ts';
import type { Rule } from '../rules/rule.ts';
import { type KeyPath, structureOf } from '../structure/key-path.ts';
import { holdsValue } from '../structure/named-beside.ts';
import {
  doubtOfAssignment,
  doubtOfExample,
  doubtOfPassword,
  doubtOfPath,
  doubtOfValue,
  isFollowedBySign,
  isOfWords,
  isPartOfValue,
} from './doubts.ts';
import { type Assignment, featuresOf } from './features.ts';
import { knownPrefixOf } from './known-prefixes.ts';
import { Letters, type LetterTables } from './letters.ts';
import {
  elementBefore,
  isTranslatedBefore,
  kindsOf,
  nameBefore,
  nameBeside,
  namesDigest,
  namesPublicKey,
  namesSigner,
  statedBefore,
  wordsOf,
} from './names.ts';
import { type Network, probabilityOf } from './network.ts';
import { HEX, isDigestLike } from './shapes.ts';

/** Where a candidate is. Strings are bytes as latin1. */
export interface JudgedPlace {
  /** The path of the object. */
  path: string;
  /** Text around the secret, and the secret's offset in it. */
  text: string;
  at: number;
  key: KeyPath;
  /** Of the credentials that the rules of the scan recognize by their form, in lower case. */
  prefixes: readonly string[];
}

export interface Verdict {
  confidence: Confidence;
  confidence_reason: string;
}

/** Probabilities from which an assignment is a finding of a confidence. */
const THRESHOLDS: readonly (readonly [Confidence, number])[] = [
  ['high', 0.985],
  ['medium', 0.8],
  ['low', 0.3],
];

const NAME_SHOWN_MAX = 60;
/** Bytes of a host name to check. */
const HOST_MAX = 80;
/** Bytes before and after a value that may belong to it. */
const BEFORE_MAX = 40;
const AFTER_MAX = 8;

interface Weights {
  letters: LetterTables;
  network: Network;
}

let trained: { letters: Letters; network: Network } | undefined;

/** Reads the weights that `scripts/train-judge.ts` has written. */
function weights(): { letters: Letters; network: Network } {
  if (trained === undefined) {
    const read = JSON.parse(readFileSync(new URL('./weights.json', import.meta.url), 'utf8')) as Weights;
    trained = { letters: new Letters(read.letters), network: read.network };
  }
  return trained;
}

/** Decides how certain it is that a candidate is a secret; returns null if it is none. */
export function judge(candidate: Candidate, place: JudgedPlace): Verdict | null {
  const verdict = candidate.rule.rule.judged ? judgeAssignment(candidate, place) : judgeMatch(candidate, place);
  if (verdict === null || verdict.confidence === 'low') return verdict;
  const doubt = doubtOfPath(place.path);
  return doubt === ''
    ? verdict
    : { confidence: 'low', confidence_reason: `${verdict.confidence_reason}, but ${doubt}` };
}

function judgeMatch(candidate: Candidate, place: JudgedPlace): Verdict | null {
  const { rule } = candidate.rule;
  // The value may still be a credential of another kind.
  if (isPart(candidate, place)) return null;
  // It still keeps generic rules from reporting the same text.
  if (!checksumHolds(rule, candidate.secret))
    return { confidence: 'low', confidence_reason: 'the value has the form of the rule, but its checksum is wrong' };
  if (rule.confidence !== undefined) return { confidence: rule.confidence, confidence_reason: 'the rule sets it' };
  if (rule.checksum !== undefined)
    return { confidence: 'high', confidence_reason: 'the value has the form and the checksum of the rule' };
  const doubt = doubtOfMatch(candidate, place);
  if (doubt !== null)
    return { confidence: 'low', confidence_reason: `the value has the form of the rule, but ${doubt}` };
  const lower = candidate.secret.toLowerCase();
  const part = candidate.rule.generic ? undefined : rule.keywords.find((word) => lower.includes(word));
  if (part !== undefined)
    return { confidence: 'high', confidence_reason: `the value itself has the form of the rule, with "${part}"` };
  return { confidence: 'medium', confidence_reason: 'the value fits the rule by its form and the text around it' };
}

/** Returns whether a rule that goes by names found but a part of a value, which is then no credential of its kind. */
function isPart({ rule: { rule }, secret }: Candidate, { text, at }: JudgedPlace): boolean {
  if (rule.by_name !== true) return false;
  const end = at + secret.length;
  return isPartOfValue(text.slice(Math.max(0, at - BEFORE_MAX), at), text.slice(end, end + AFTER_MAX));
}

function doubtOfMatch({ rule: { rule }, secret }: Candidate, { text, at }: JudgedPlace): string | null {
  if (rule.by_name === true && isOfWords(secret, weights().letters)) return 'it consists of words';
  const after = text.slice(at + secret.length, at + secret.length + HOST_MAX);
  if (isFollowedBySign(text.slice(Math.max(0, at - 1), at), after)) return 'the value goes on with a sign';
  return doubtOfPassword(secret, after);
}

function judgeAssignment({ rule: { rule }, secret }: Candidate, place: JudgedPlace): Verdict | null {
  const assignment = assignmentOf(rule, secret, place);
  // The outcome of a test, not a name.
  if (assignment.name === 'PASS' && /:\s*$/.test(assignment.before)) return null;
  // What was made of a secret, as baselines of scanners list it.
  if (isDigestLike(secret) && namesDigest(assignment.name)) return null;
  if (FINGERPRINT.test(secret) && namesSigner(assignment.name)) return null;
  if (namesPublicKey(assignment.name) || isTorn(assignment)) return null;
  if (rule.judged_as === undefined && isNextArgument(place, assignment)) return null;
  // A value with the form belongs to the rule of that form.
  const prefix = knownPrefixOf(secret, place.prefixes);
  if (prefix !== undefined)
    return doubted(rule, assignment, `the value has the prefix ${prefix} of a known credential without its form`);
  const probability = scoreOf(assignment);
  const scored = THRESHOLDS.find(([, minimum]) => probability >= minimum)?.[0];
  if (scored === undefined) return null;
  const doubt = scored === 'low' ? null : doubtOf(assignment, place);
  if (doubt !== null) return doubted(rule, assignment, doubt);
  const confidence = rule.confidence !== undefined && isAtLeast(scored, rule.confidence) ? rule.confidence : scored;
  return { confidence, confidence_reason: `${nameReason(rule, assignment)}; ${valueReason(secret, confidence)}` };
}

/** Of a key of OpenPGP. */
const FINGERPRINT = /^[0-9A-Fa-f]{40}$/;

/** A line up to its value, in a file with a name and a value on each line. */
const UP_TO_VALUE = /^\s*(?:export\s+|-\s+)?[\w.-]+\s*[=:]\s*$/;

/** In such a file, a sign and what follows it belong to the value of the line, and to no other. */
function isTorn({ path, value, before, after }: Assignment): boolean {
  const format = structureOf(path);
  if (format !== 'sections' && format !== 'yaml') return false;
  if (UP_TO_VALUE.test(before)) return /^[;,()&|<>]\S+\s*$/.test(after);
  return /[;,()&|<>]/.test(value) && /[=:]\s*$/.test(before);
}

function doubted(rule: Rule, assignment: Assignment, doubt: string): Verdict {
  return { confidence: 'low', confidence_reason: `${nameReason(rule, assignment)}, but ${doubt}` };
}

function doubtOf(assignment: Assignment, { text, at }: JudgedPlace): string | null {
  const lineBefore = text.slice(0, at).split('\n').at(-2) ?? '';
  return (
    doubtOfValue(assignment.value, weights().letters) ??
    doubtOfExample(assignment.value, assignment.path) ??
    doubtOfAssignment({ ...assignment, lineBefore })
  );
}

/** The score of an assignment, 0 to 1, and what it would be if one side of it said something else. */
export interface JudgedScores {
  name: string;
  score: number;
  /** For each confidence, the least score. */
  least: Readonly<Record<Confidence, number>>;
  /** If the value had no name. */
  without_name: number;
  /** If the value were random letters and digits. */
  with_random_value: number;
  /** If it were a line of an environment file. */
  in_env_file: number;
}

const RANDOM_VALUE = 'k3Vq8ZtB5xWm2RfJ9cLd';

/** Explains the score of a judged candidate by comparing it with others. */
export function scoresOf({ rule: { rule }, secret }: Candidate, place: JudgedPlace): JudgedScores {
  const assignment = assignmentOf(rule, secret, place);
  return {
    name: assignment.name.slice(0, NAME_SHOWN_MAX),
    score: scoreOf(assignment),
    least: Object.fromEntries(THRESHOLDS) as Record<Confidence, number>,
    without_name: scoreOf({ ...assignment, name: '', parents: '' }),
    with_random_value: scoreOf({ ...assignment, value: RANDOM_VALUE }),
    in_env_file: scoreOf({ ...assignment, path: '.env', before: `${assignment.name}=`, after: '' }),
  };
}

/** Returns the probability that an assigned value is a secret. */
function scoreOf(assignment: Assignment): number {
  const { letters, network } = weights();
  return probabilityOf(network, featuresOf(assignment, letters));
}

function assignmentOf(rule: Rule, value: string, { path, text, at, key }: JudgedPlace): Assignment {
  const lineStart = text.lastIndexOf('\n', at - 1) + 1;
  const lineEnd = text.indexOf('\n', at + value.length);
  const before = text.slice(lineStart, at);
  const after = text.slice(at + value.length, lineEnd === -1 ? undefined : lineEnd);
  if (rule.judged_as !== undefined) return { value, name: rule.judged_as, parents: '', path, before, after };
  const keys = (key.key_path ?? '').split(/[.@]/);
  const last = keys.pop() ?? '';
  const own = nameBefore(before) || elementBefore(text.slice(0, at)) || nameOnLineBefore(text.slice(0, at), before);
  const written = (holdsValue(own) && nameBeside(text.slice(0, at))) || own;
  const name = statedName(own, before) || (key.key_name ?? (written === '' ? last : written));
  return { value, name, parents: keys.join('.'), path, before, after };
}

/** Returns the name at the end of the line before, where a value has a line of its own. */
function nameOnLineBefore(text: string, before: string): string {
  return /^[\s"'`(]*(?:<!\[CDATA\[)?$/.test(before) ? nameBefore(text) : '';
}

/** Returns whether a value on a line of its own follows a variable or a call on the line before, as another argument. */
function isNextArgument({ text, at }: JudgedPlace, { before }: Assignment): boolean {
  return /^[\s"'`(]*$/.test(before) && /[\w)\]]\s*,\s*$/.test(text.slice(0, at - before.length).slice(-BEFORE_MAX));
}

/** In a sentence, the word before a value is none of a name. */
function statedName(own: string, before: string): string {
  if (isTranslatedBefore(before)) return 'password';
  return /^(?:is|are|was|to|now|currently|still|by|password)$/i.test(own) ? statedBefore(before) : '';
}

function nameReason({ judged_as }: Rule, { name, parents }: Assignment): string {
  if (judged_as !== undefined) return `stands where a ${judged_as.replaceAll('_', ' ')} is expected`;
  const shown = name.slice(0, NAME_SHOWN_MAX);
  if (name === '') return 'stands where a secret is expected';
  const { password, token, secret, key } = kindsOf(name);
  const isNamed = password || token || secret || key || parents === '';
  return `assigned to the name ${shown}${isNamed ? '' : ` under ${wordsOf(parents).slice(-NAME_SHOWN_MAX)}`}`;
}

function valueReason(secret: string, confidence: Confidence): string {
  if (confidence === 'low') return 'the value may be a word, an identifier or an example';
  if (HEX.test(secret)) return `the value is ${secret.length} random hexadecimal digits`;
  return secret.length >= 20
    ? 'the value looks random'
    : 'the value looks like a password, not like a word or an identifier';
}
