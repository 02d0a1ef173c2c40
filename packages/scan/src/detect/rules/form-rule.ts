import {
  ALPHABETS,
  classOf,
  escapePattern,
  type FormPart,
  formEntropy,
  formPattern,
  longestLiteral,
  parseForm,
} from './form.ts';
import type { Allowlist, RegexTarget, Rule } from './rule.ts';

/** What a rule says of a credential instead of a pattern. */
export interface Credential {
  /** Its possible forms. */
  forms: readonly string[];
  /**
   * One of these must stand before it; with none, its forms suffice to recognize it. A hyphen is any separator, or
   * none.
   */
  names: readonly string[];
  /** The names are also words of English: `key`, `token` or the like must follow them. */
  secret_word: boolean;
}

type CredentialRule = Pick<Rule, 'regex' | 'keywords' | 'secret_group' | 'entropy' | 'allowlists' | 'by_name'>;

/** Bytes between a name and its value. */
const GAP_MAX = 40;
/** The same, before and after the word that must stand between them. */
const BEFORE_WORD_MAX = 28;
const AFTER_WORD_MAX = 20;
/** Directly before a value, these belong to a longer one. */
const NEVER_BEFORE_VALUES = '@?#%!$*^~&';

/** Any byte of a text, line ends too. */
const TEXT = '[^\\x00-\\x08\\x0e-\\x1f]';
const SECRET_WORD = '(?i:key|token|secret|access|private|passw|pwd|auth|bearer|credential|pat)';
/** What follows a name that is short enough to be a part of other words. */
const AFTER_SHORT_NAME = '(?:[^a-z]|(?i:api|app|auth|access|client|key|secret|token))';
const SHORT_NAME_MAX = 5;
const KEYWORD_LENGTH_MIN = 3;
const SEPARATORS = ['', '_', '-', ' ', '.'];
/** A first word of this length is rare enough to be the keyword of a name. */
const FIRST_WORD_ENOUGH = 5;

/** What directly precedes a value may also be one of its characters. */
const BEFORE_VALUES = new Set('=:/+ ');
/** What joins words in names may also join a name and its value. */
const JOINTS = new Set('-_.');

/** Words, each with a number at most. */
const NUMBERED_WORDS = '^(?:[A-Za-z]{1,20}[0-9]{0,4}[-_.])+[A-Za-z]{1,20}[0-9]{0,4}$';
/** In a short value, letters alone are words; a long one may be random where a small letter stands alone in it. */
const LETTERS = '^[^0-9]+$';
const LONG_LETTERS = '^[^a-z0-9]*(?:[a-z]+[^a-z0-9]+)?(?:[a-z][a-z]+[^a-z0-9]+)*(?:[a-z][a-z]+)?$';
const LONG_MIN = 20;
const NUMBERS = '^[0-9._-]+$';

/** Matches whose value is the digest of something, by what is said of it, or by the sign directly before it. */
const CALLED_DIGEST =
  '(?is:(?:sha-?(?:1|256|512)|md5|integrity|commit|checksum|digest|hash|revision|etag|fingerprint)(?:s(?:um)?|id|hex)?(?:[^0-9a-z].{0,50})?[^0-9a-z][a-f0-9-]{7,128}.?$)';
const MARKED_DIGEST = '(?is:[@#/][a-f0-9-]{7,128}.?$)';
/** Matches whose value directly follows the name of a digest, in base64 as in lists of installed files. */
const NAMED_DIGEST = '(?i:(?:sha-?(?:1|224|256|384|512)|md5)[=: -]{1,3}["\'`]?[A-Za-z0-9+/=_-]{20,100}.?$)';
/** Digits on a line of their own, after text that assigns nothing. */
const LISTED_DIGEST = '(?is:^[^=:>"\'`\n]*\n[ \t]*[a-f0-9]{32,128}.?$)';
/** Matches whose value is the last part of a version. */
const PART_OF_VERSION = '(?is:[0-9]\\.[0-9]{1,5}-[0-9a-z-]{7,64}.?$)';

/** Matches whose value is assigned to a name that says that it is no secret. */
const NO_SECRET =
  '(?i:ids?|uuid|guid|url|uri|name|user|email|host|path|version|region|branch|rev)["\'\\])]{0,2}\\s{0,3}[:=>]{1,2}\\s{0,3}["\'`{\\\\]{0,3}[^\\s"\'`{}<>]{4,500}["\'`{}<>\\s;,)]?$';

/** Makes the pattern, keywords and exceptions of a rule from the description of a credential. Throws FormError. */
export function ruleOfCredential({ forms, names, secret_word }: Credential): CredentialRule {
  const parsed = forms.map(parseForm);
  const isNamed = names.length > 0;
  const pattern = (parts: readonly FormPart[]): string =>
    (!isNamed && beginsWithWord(parts) ? '\\b' : '') + formPattern(parts);
  const value = `(${parsed.map(pattern).join('|')})${boundaryAfter(parsed, isNamed)}`;
  const entropy = Math.min(...parsed.map(formEntropy));
  if (!isNamed) {
    const keywords = keywordsOfForms(parsed);
    return { regex: value, keywords, secret_group: 1, entropy, allowlists: [] };
  }
  return {
    regex: beforeValue(names, secret_word, boundaryBefore(parsed)) + value,
    keywords: [...new Set(names.flatMap(keywordsOfName))],
    secret_group: 1,
    entropy,
    allowlists: exceptions(parsed),
    by_name: true,
  };
}

/** Literals in one place of all forms, so that one search finds any of them. */
function keywordsOfForms(parsed: readonly (readonly FormPart[])[]): string[] {
  const beginnings = parsed.map(([first]) => (first!.type === 'literal' ? first!.text.toLowerCase() : ''));
  const isLong = beginnings.every(({ length }) => length >= KEYWORD_LENGTH_MIN);
  return [...new Set(isLong ? beginnings : parsed.map(longestLiteral))];
}

function charactersOf(part: FormPart): string {
  return part.type === 'literal' ? part.text : part.characters;
}

function beginsWithWord([first]: readonly FormPart[]): boolean {
  const text = charactersOf(first!);
  return first!.type === 'literal' ? /^\w/.test(text) : !/\W/.test(text);
}

/** The next byte is none with which the value could continue. */
function boundaryAfter(parsed: readonly (readonly FormPart[])[], isNamed: boolean): string {
  const own = ALPHABETS[isNamed ? 'alnum' : 'url']!;
  const last = parsed.map((parts) => parts.at(-1)!);
  return `(?:[^${classOf(own + last.map((part) => (part.type === 'literal' ? '' : part.characters)).join(''))}]|$)`;
}

/** What may stand directly before a value, and the characters that may join it to a secret word. */
interface Boundary {
  before: string;
  joints: string;
}

function boundaryBefore(parsed: readonly (readonly FormPart[])[]): Boundary {
  const first = parsed.map((parts) => parts[0]!);
  const characters = first.map((part) => (part.type === 'literal' ? '' : part.characters)).join('');
  const inner = Array.from(characters).filter((each) => !BEFORE_VALUES.has(each));
  const before = `[^${classOf(ALPHABETS.alnum! + NEVER_BEFORE_VALUES + inner.join(''))}]`;
  const joints = inner.filter((each) => JOINTS.has(each));
  return { before, joints: joints.length === 0 ? '' : `[${classOf(joints.join(''))}]` };
}

/** From a name to the value. Short names must be words of their own. */
function beforeValue(names: readonly string[], secretWord: boolean, { before, joints }: Boundary): string {
  const boundary = joints === '' ? before : `(?:${before}|${SECRET_WORD}${joints})`;
  const gap = (max: number): string => `${TEXT}{0,${max}}?`;
  const pattern = (name: string): string => name.split('-').map(escapePattern).join('[ _.-]?');
  const isShort = (name: string): boolean => name.replaceAll('-', '').length <= SHORT_NAME_MAX;
  const long = names.filter((name) => !isShort(name)).map(pattern);
  const short = names.filter(isShort).map(pattern);
  const afterLong = secretWord ? gap(BEFORE_WORD_MAX) : gap(GAP_MAX) + boundary;
  const afterShort = secretWord
    ? `(?:[^a-z]${gap(BEFORE_WORD_MAX)})?`
    : `(?:${boundary}|${AFTER_SHORT_NAME}${gap(GAP_MAX)}${boundary})`;
  const choices = [
    ...(long.length > 0 ? [`(?i:${long.join('|')})${afterLong}`] : []),
    ...(short.length > 0 ? [`(?:\\b|_)(?i:${short.join('|')})${afterShort}`] : []),
  ];
  const named = choices.length === 1 ? choices[0]! : `(?:${choices.join('|')})`;
  if (!secretWord) return named;
  const afterWord = gap(AFTER_WORD_MAX) + boundary;
  return named + SECRET_WORD + (joints === '' ? afterWord : `(?:${joints}|${afterWord})`);
}

function keywordsOfName(name: string): string[] {
  const [first = '', ...rest] = name.toLowerCase().split('-');
  if (rest.length === 0 || first.length >= FIRST_WORD_ENOUGH) return [first];
  return rest.reduce((all, word) => all.flatMap((each) => SEPARATORS.map((sign) => each + sign + word)), [first]);
}

/** Values that stand near a name without being a secret. */
function exceptions(parsed: readonly (readonly FormPart[])[]): Allowlist[] {
  const random = parsed.flat().filter((part) => part.type === 'random');
  const isMixed = random.some(({ characters }) => /[0-9]/.test(characters) && /[g-zG-Z]/.test(characters));
  const mayBeNumber = random.some(({ characters }) => !/[A-Za-z]/.test(characters));
  const isLong = parsed.every((parts) => formLength(parts) >= LONG_MIN);
  const words = [isLong ? LONG_LETTERS : LETTERS, NUMBERED_WORDS];
  const hasMark = parsed.flat().some((part) => part.type === 'literal' && /[@#/]/.test(part.text));
  return [
    ...(isMixed ? [exception('words', 'secret', mayBeNumber ? words : [...words, NUMBERS])] : []),
    exception('what is no secret', 'match', [
      ...(parsed.every(hasPrefix) ? [] : [NO_SECRET]),
      ...[CALLED_DIGEST, NAMED_DIGEST, LISTED_DIGEST, PART_OF_VERSION],
      ...(hasMark ? [] : [MARKED_DIGEST]),
    ]),
  ];
}

/** Returns whether a form itself says whose it is, so that the name it is assigned to need not call it a secret. */
function hasPrefix([first]: readonly FormPart[]): boolean {
  return first!.type === 'literal' && first!.text.length > KEYWORD_LENGTH_MIN;
}

/** Least length of the random runs of a form. */
function formLength(parts: readonly FormPart[]): number {
  return parts.reduce((total, part) => total + (part.type === 'random' ? part.min : 0), 0);
}

function exception(description: string, regex_target: RegexTarget, regexes: readonly string[]): Allowlist {
  return { description, condition: 'any', commits: [], paths: [], regexes, regex_target, stopwords: [] };
}
