import { remembered } from '../remembered.ts';
import { extensionOf } from '../structure/file-kind.ts';
import type { Letters } from './letters.ts';
import { kindsOf, wordsOf } from './names.ts';
import { HEX, isDigestLike, placeholderShare, UUID } from './shapes.ts';

/** A value as it is assigned somewhere. Strings are bytes as latin1. */
export interface Assignment {
  value: string;
  /** What it is assigned to; empty if that is unknown. */
  name: string;
  /** The keys around it, without the name. */
  parents: string;
  path: string;
  /** What precedes and follows it on its line. */
  before: string;
  after: string;
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));
const CONFIG = words(
  'env yml yaml json json5 toml ini cfg conf cnf config properties xml plist tf tfvars hcl netrc npmrc pypirc prefs sql ' +
    'dockerfile service tfstate settings log txt htpasswd pgpass gradle credentials secrets csproj kdbx http rest ipynb',
);
const CODE = words(
  'js mjs cjs ts tsx jsx py rb php go java kt kts scala cs vb c h cc cpp hpp m mm swift rs dart lua pl pm sh bash zsh ' +
    'fish ps1 bat cmd groovy ex exs erl clj vue svelte r jl coffee',
);
const PROSE = words('md markdown rst html htm adoc tex po pot pod mdx man info mo 1 3 5 7 8');

const TEST_PATH =
  /(?:^|[/_.!-])(?:tests?|specs?|testing|testdata|__tests__|fixtures?|mocks?|examples?|samples?|demos?|e2e|docs?|tutorials?)(?:[/_.!-]|$)/i;
const QUIET_PATH =
  /(?:^|[/!])(?:node_modules|vendor|third_party|dist-packages|site-packages|locales?|i18n|l10n|lang|languages|translations?|lib\/python[\d.]*)[/!]|(?:package-lock\.json|yarn\.lock|pnpm-lock\.yaml|composer\.lock|cargo\.lock|poetry\.lock|gemfile\.lock|go\.sum)$|\.min\.(?:js|css)$|\.map$|(?:^|[/_.])(?:messages?|strings)[._][\w-]*\.?(?:json|xml|properties|ya?ml)$/i;

const LONG_LINE = 400;
/** Values are judged file after file. */
export const FILES_MAX = 4;

/** Returns the features of an assignment, each about 0 to 1. */
export function featuresOf(assignment: Assignment, letters: Letters): number[] {
  return [...ofValue(assignment.value, letters), ...ofName(assignment), ...ofPlace(assignment)];
}

function ofValue(value: string, letters: Letters): number[] {
  const { length } = value;
  const counts = classesOf(value);
  const entropy = entropyOf(value);
  const most = Math.log2(Math.max(2, Math.min(length, HEX.test(value) ? 16 : 64)));
  const measured = letters.measure(value);
  const hex = HEX.test(value);
  const classes = [counts.lower, counts.upper, counts.digits, counts.others].filter((count) => count > 0).length;
  return [
    Math.min(length, 64) / 64,
    Math.log2(length + 1) / 7,
    length < 12 ? 1 : 0,
    length >= 20 ? 1 : 0,
    entropy / 6,
    entropy / most,
    counts.lower / length,
    counts.upper / length,
    counts.digits / length,
    counts.others / length,
    counts.changes / length,
    classes / 4,
    measured.pairs / 4,
    measured.triples,
    measured.covered,
    Math.min(measured.longest, 12) / 12,
    hex ? 1 : 0,
    isDigestLike(value) ? 1 : 0,
    UUID.test(value) ? 1 : 0,
    placeholderShare(value),
    repeatsOf(value) / length,
    stepsOf(value) / length,
    /[/.:].*[/.:]/.test(value) ? 1 : 0,
    /[(){}[\]<>,;|\\]/.test(value) ? 1 : 0,
    /[!@#$%^&*?~]/.test(value) ? 1 : 0,
    /^[A-Za-z0-9+/]+={1,2}$/.test(value) && length % 4 === 0 ? 1 : 0,
    /^[a-z0-9]+(?:[-_.][a-z0-9]+)+$/i.test(value) && !UUID.test(value) ? 1 : 0,
    /^[A-Za-z]{3,}[\d!@#$%^&*?._-]{1,8}$/.test(value) ? 1 : 0,
    counts.digits === 0 ? 1 : 0,
  ];
}

function ofName({ value, name, parents }: Assignment): number[] {
  const own = kindsOf(name);
  const around = kindsOf(parents);
  const [spelled, valueWords] = [wordsOf(name), wordsOf(value)];
  const isSame = spelled !== '' && (valueWords.includes(spelled) || spelled.includes(valueWords));
  const flags = [
    own.password,
    own.token,
    own.secret,
    own.key,
    own.owned,
    own.about,
    own.open,
    name === '',
    isSame,
    around.password || around.secret || around.token || (around.key && around.owned),
    /[A-Z]/.test(name) && !/[a-z]/.test(name),
  ];
  return flags.map(Number);
}

/** What a path says of all values in its file. */
const kindOfFile = remembered(FILES_MAX, (path) => {
  const extension = extensionOf(path);
  return {
    isConfig: CONFIG.has(extension),
    isCode: CODE.has(extension),
    isProse: PROSE.has(extension),
    isTest: TEST_PATH.test(path),
    isQuiet: QUIET_PATH.test(path),
  };
});

/** Returns whether a file of this path is a text for readers. */
export function isProse(path: string): boolean {
  return kindOfFile(path).isProse;
}

function ofPlace({ path, before, after }: Assignment): number[] {
  const { isConfig, isCode, isProse: isText, isTest, isQuiet } = kindOfFile(path);
  const isQuoted = /["'`]$/.test(before) && /^["'`]/.test(after);
  const flags = [
    isQuoted,
    isConfig,
    isCode,
    isText,
    isTest,
    isQuiet,
    /^\s*(?:#|\/\/|\*|--|;)/.test(before),
    before.length + after.length > LONG_LINE,
    isCode && !isQuoted,
    /[,(]\s*["'`]?$/.test(before),
  ];
  return flags.map(Number);
}

function classesOf(value: string): { lower: number; upper: number; digits: number; others: number; changes: number } {
  const counts = [0, 0, 0, 0];
  let changes = 0;
  let last = -1;
  for (let at = 0; at < value.length; at++) {
    const kind = classOf(value.charCodeAt(at));
    counts[kind]!++;
    if (last >= 0 && kind !== last) changes++;
    last = kind;
  }
  const [lower, upper, digits, others] = counts as [number, number, number, number];
  return { lower, upper, digits, others, changes };
}

function classOf(code: number): number {
  if (code >= 0x61 && code <= 0x7a) return 0;
  if (code >= 0x41 && code <= 0x5a) return 1;
  return code >= 0x30 && code <= 0x39 ? 2 : 3;
}

function entropyOf(text: string): number {
  const counts = new Map<number, number>();
  for (let at = 0; at < text.length; at++) counts.set(text.charCodeAt(at), (counts.get(text.charCodeAt(at)) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

/** Letters that repeat the one before. */
function repeatsOf(value: string): number {
  let count = 0;
  for (let at = 1; at < value.length; at++) if (value[at] === value[at - 1]) count++;
  return count;
}

/** Letters that follow the one before in the alphabet, as in `abc` and `123`. */
function stepsOf(value: string): number {
  let count = 0;
  for (let at = 2; at < value.length; at++) {
    const step = value.charCodeAt(at) - value.charCodeAt(at - 1);
    if (Math.abs(step) === 1 && value.charCodeAt(at - 1) - value.charCodeAt(at - 2) === step) count++;
  }
  return count;
}
