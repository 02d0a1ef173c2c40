import { remembered } from '../remembered.ts';
import { type Assignment, FILES_MAX, isProse } from './features.ts';
import type { Letters } from './letters.ts';
import { kindsOf, wordsOf } from './names.ts';
import { HEX, UUID } from './shapes.ts';

/** An assignment with the line before its own. */
export type DoubtedAssignment = Omit<Assignment, 'path'> & { lineBefore: string };

const RANDOM_LENGTH_MIN = 16;

/** Returns why a value was probably made up or changed by hand; null without a reason. */
export function doubtOfValue(value: string, letters: Letters): string | null {
  if (isSequence(value)) return 'the value runs through the alphabet or the digits';
  if (repeatsBlock(value)) return 'the value repeats a part of itself';
  if (saysThatItIsNone(value)) return 'the value contains a word for an example';
  if (isOfWords(value, letters)) return 'the value consists of words';
  if (CONSTANT.test(value)) return 'the value is the name of a constant';
  if (RUN.test(value)) return 'the value has one character many times in a row';
  if (isHalfByte(value)) return 'the value is an odd number of hexadecimal digits';
  if (ODD_BYTES.has(value.length) && HEX.test(value)) return 'the value is more or fewer bytes than keys have';
  if (hasHardlyDigits(value)) return 'the value is of letters but for a digit or two';
  return null;
}

/** Returns why what is assigned to the name of a secret is probably none; null without a reason. */
export function doubtOfAssignment(assignment: DoubtedAssignment): string | null {
  const { value, name, parents, before, after, lineBefore } = assignment;
  const spelled = wordsOf(name);
  if ((spelled === 'key' && parents === '') || /^keys?_?\d+$/.test(spelled)) return 'it may be the key of anything';
  if (OF_A_PAGE.test(spelled)) return 'its name says that each page has another one';
  if (INVALID_NAME.test(spelled) || INVALID_TEXT.test(before) || INVALID_TEXT.test(lineBefore.replaceAll(MESSAGE, '')))
    return 'the text around it calls it invalid';
  if (JOINT_AT_END.test(value) && JOINED.test(after)) return 'it is but the beginning of a value';
  if (!kindsOf(name).password && WORDS_WITHIN.test(value)) return 'the value has words between its random characters';
  if (!kindsOf(name).password && hasStraySign(value)) return 'the value has a sign or two that tokens do not contain';
  if (hasStrayLetter(value)) return 'all characters of the value but one or two are of a smaller alphabet';
  return null;
}

/** Hosts that are reserved for documentation; manual pages write a mark before the dot. */
const EXAMPLE_HOST = /^@(?:[\w-]+\.)*example(?:\\&)?\.(?:com|net|org)\b/i;
const OWN_PASSWORD = /^(?:my|your)[-_](?:[a-z]+[-_])*(?:secret|password|passwd|pass|pw|pwd|token|key)$/i;

/** Returns why what a rule found is an example of a password; null without a reason. */
export function doubtOfPassword(value: string, after: string): string | null {
  if (EXAMPLE_HOST.test(after)) return 'its host is one of documentation';
  if (OWN_PASSWORD.test(value)) return 'it is a placeholder';
  return null;
}

/** Signs that tokens do not contain, and what looks like more of one behind them; not a query or an escape in a URL. */
const GOES_ON = /^[?!%^*$~|]{1,2}(?![A-Za-z_]\w*=|[0-9A-Fa-f]{2})[A-Za-z0-9]{3}/;
/** Letters with digits among them, as a part of a token, that a sign joins to what follows. */
const BELONGS_TO_MORE = /[A-Za-z][A-Za-z0-9]*?[0-9][A-Za-z0-9]*?[0-9][A-Za-z0-9]*[._?!-]$/;

/** Returns whether the text around a value that a rule found belongs to it, so that the rule is about another one. */
export function isPartOfValue(before: string, after: string): boolean {
  return GOES_ON.test(after) || BELONGS_TO_MORE.test(before);
}

const SIGN_TO_QUOTE = /^[!%^*$~|]{1,2}(["'`])/;

/** Returns whether the value in quotes that a rule found goes on with a sign. */
export function isFollowedBySign(before: string, after: string): boolean {
  const quote = SIGN_TO_QUOTE.exec(after)?.[1];
  return quote !== undefined && before.endsWith(quote);
}

/** Returns why a value in a text for readers is made up; null without a reason. */
export function doubtOfExample(value: string, path: string): string | null {
  if (!isProse(path) || !HEX.test(value) || KEY_LENGTHS.has(value.length)) return null;
  return 'in a text for readers, it is hexadecimal digits of a length that keys do not have';
}

/** What packages of a distribution install for people to read, the same on every machine. */
const PACKAGED_TEXT = /(?:^|\/)usr\/(?:local\/)?share\/(?:doc|man|info)\//;
const DEFAULTS = /(?:^|[/_.-])default[_-]?(?:accounts|logins|passwords)(?![a-z])[^/]*$/i;

/** Returns why what a file of this path holds is known to everybody; empty without a reason. */
export const doubtOfPath = remembered(FILES_MAX, (path) => {
  if (PACKAGED_TEXT.test(path)) return 'it is in the documentation of an installed package';
  if (DEFAULTS.test(path)) return 'the file lists what devices and programs are delivered with';
  return '';
});

const INVALID_NAME =
  /(?:^|_)(?:bad|invalid|incorrect|wrong|malformed|expired|revoked|fake|dummy|mock|bogus|(?:non|not)_?(?:matching|valid|real))(?:_|$)/;
const INVALID_TEXT =
  /\b(?:invalid|incorrect|malformed|truncated|fake|dummy|bogus|placeholder|not (?:a )?(?:real|valid)|wrong (?:key|token|secret|password|length|format))\b/i;
/** What a program says of another value. */
const MESSAGE = /(["'`])(?:incorrect|invalid)\b[^"'`]*\1/gi;

/** Tokens against forged requests. */
const OF_A_PAGE = /[cx]srf|(?:^|_)authenticity(?:_|$)/;

const JOINT_AT_END = /[-_.:/=]$/;
/** A value goes on in what is appended to it. */
const JOINED = /^["'`]\)?\s*(?:\+|\.\.|\.|&|<<)\s*[A-Za-z_$(]/;

/** Three words or more, each with a number at its end at most. */
const CONSTANT = /^[A-Z]+\d{0,5}(?:_[A-Z]+\d{0,5}){2,}$/;

const SEQUENCE_MIN = 6;

/** Returns whether characters follow each other in the alphabet: `abcdef`, `654321`, or in turns, as in `a1b2c3d4`. */
function isSequence(value: string): boolean {
  return hasSteps(value, 1) || hasSteps(value, 2);
}

/** Whether enough characters in a row are each the next one, or the one before, to that `stride` places earlier. */
function hasSteps(value: string, stride: 1 | 2): boolean {
  let run = 0;
  for (let at = 2 * stride; at < value.length; at++) {
    const step = stepTo(value, at, stride);
    run = step !== 0 && step === stepTo(value, at - stride, stride) ? run + 1 : 0;
    if (run >= SEQUENCE_MIN - 2) return true;
  }
  return false;
}

/** 1 or -1 between neighbors in the alphabet or in the digits, else 0. */
function stepTo(value: string, at: number, stride: number): number {
  const [from, to] = [value.charCodeAt(at - stride) | 0x20, value.charCodeAt(at) | 0x20];
  if (from === 0x39 && to === 0x30) return 1;
  const step = to - from;
  return step === 1 || step === -1 ? step : 0;
}

const BLOCK_MIN = 6;
/** Different characters in a part, without which it says little. */
const BLOCK_SIGNS_MIN = 3;
const BLOCK_VALUE_MAX = 128;
/** Chance that a random value repeats a part of itself, above which that means nothing. */
const CHANCE_MAX = 1e-4;

/** Returns whether a part of the value occurs twice that is too long to do so by chance. */
function repeatsBlock(value: string): boolean {
  const { length } = value;
  if (length > BLOCK_VALUE_MAX || value.startsWith('eyJ')) return false;
  const alphabet = HEX.test(value) ? 16 : 32;
  const pairs = (length * length) / 2;
  const block = Math.max(BLOCK_MIN, Math.ceil(Math.log(pairs / CHANCE_MAX) / Math.log(alphabet)));
  for (let at = 0; at + block < length; at++) {
    const part = value.slice(at, at + block);
    if (!value.includes(part, at + 1)) continue;
    if (!/[^A-Za-z0-9]/.test(part) && new Set(part).size >= BLOCK_SIGNS_MIN) return true;
  }
  return false;
}

const EXAMPLE_WORD =
  /fake|dummy|sample|example|placeholder|invalid|notreal|changeme|truncated|redacted|insert|replace/i;
const EXAMPLE_VALUE_MAX = 100;

function saysThatItIsNone(value: string): boolean {
  return value.length <= EXAMPLE_VALUE_MAX && EXAMPLE_WORD.test(value);
}

const LONG_MIN = 32;
/** Of the letters, and of their triples in a longer value. */
const WORDS_SHARE = 0.8;
const TRIPLES_SHARE = 0.6;
const DIGITS_SHARE_MAX = 0.1;

/** Returns whether nearly all letters belong to words, as in a path or the name of something. */
export function isOfWords(value: string, letters: Letters): boolean {
  const { length } = value;
  if (length < RANDOM_LENGTH_MIN || length > BLOCK_VALUE_MAX) return false;
  const { covered, triples } = letters.measure(value.toLowerCase());
  const signs = value.replaceAll(/[A-Za-z0-9]/g, '').length;
  if ((covered * length) / Math.max(1, length - signs) >= WORDS_SHARE) return true;
  const digits = value.replaceAll(/\D/g, '').length;
  return length >= LONG_MIN && digits <= DIGITS_SHARE_MAX * length && triples >= TRIPLES_SHARE;
}

/** Of values whose letters are of one case and whose digits are so few by chance. */
const FEW_DIGITS_CHANCE_MAX = 5e-3;
const FEW_DIGITS_LENGTH_MIN = 20;

/** Returns whether letters of one case have fewer digits among them than a random value, as typed ones. */
function hasHardlyDigits(value: string): boolean {
  const body = value.replaceAll(/[^A-Za-z0-9]/g, '');
  const digits = body.replaceAll(/\D/g, '').length;
  if (digits === 0 || body.length < FEW_DIGITS_LENGTH_MIN || (/[a-z]/.test(body) && /[A-Z]/.test(body))) return false;
  const alphabet = /^[A-Za-z2-7]*$/.test(body) ? 32 : 36;
  return chanceOf(digits, body.length, 26 / alphabet) < FEW_DIGITS_CHANCE_MAX;
}

/** Returns whether hexadecimal digits, of which a byte takes two, are an odd number, as of a token that was cut. */
function isHalfByte(value: string): boolean {
  return value.length > RANDOM_LENGTH_MIN && value.length % 2 === 1 && HEX.test(value);
}

/** Lengths of 13, 17, 19 and 23 bytes in hexadecimal. */
const ODD_BYTES = new Set([26, 34, 38, 46]);
/** Lengths of keys in hexadecimal. */
const KEY_LENGTHS = new Set([16, 20, 24, 28, 30, 32, 36, 40, 48, 50, 56, 60, 64, 72, 80, 96, 128]);

/** A character six times in a row; keys in base64 have runs of `A`, which are zeros. */
const RUN = /([^A])\1{5}/;

/** Three words with hyphens, in something longer. */
const WORDS_WITHIN = /[A-Z0-9_]-[a-z]{3,12}(?:-[a-z]{3,12}){2}(?![a-z0-9])/;

const STRAY_SIGNS_MAX = 4;
const STRAY_SHARE = 0.1;

/** Returns whether letters and digits as random as a token's have a few signs among them that tokens do not have. */
function hasStraySign(value: string): boolean {
  if (value.length < RANDOM_LENGTH_MIN) return false;
  // The name and value of a cookie may be a value of their own; an escape is a character.
  const body = value
    .replace(/={1,2}$/, '')
    .replace(/^_?[a-z]+(?:_[a-z]+)*=/, '')
    .replaceAll(/%[0-9A-Fa-f]{2}/g, '');
  // In letters of both cases, as of base64, an equals sign only fills up the end.
  const known = /[a-z]/.test(body) && /[A-Z]/.test(body) ? /[\w.:/+~-]/g : /[\w.:/+~=-]/g;
  const signs = body.replaceAll(known, '').length;
  return signs > 0 && signs <= STRAY_SIGNS_MAX && signs <= Math.max(1, STRAY_SHARE * value.length);
}

const STRAY_LETTERS_MAX = 2;
/** A letter or digit at either end may mark the kind of a token. */
const MARK_MAX = 4;
const ALPHABETS: readonly (readonly [RegExp, number])[] = [
  [/[0-9a-f]/g, 16 / 36],
  [/[0-9A-F]/g, 16 / 36],
  [/[0-9a-z]/g, 36 / 62],
  [/[0-9A-Z]/g, 36 / 62],
];

/** Returns whether all letters and digits but one or two are of an alphabet that a random value would have left oftener. */
function hasStrayLetter(value: string): boolean {
  if (UUID.test(value)) return false;
  return value.split(/[^A-Za-z0-9]+/).some((part) => {
    const { length } = part;
    if (length < RANDOM_LENGTH_MIN) return false;
    return ALPHABETS.some(([alphabet, share]) => {
      const rest = part.replaceAll(alphabet, '').length;
      if (rest === 0 || rest > STRAY_LETTERS_MAX) return false;
      const inner = part.slice(MARK_MAX, -MARK_MAX).replaceAll(alphabet, '').length;
      return inner === rest && chanceOf(rest, length, share) < CHANCE_MAX;
    });
  });
}

/** Returns the chance that at most `few` of `length` random characters are outside of a share of their alphabet. */
function chanceOf(few: number, length: number, share: number): number {
  let chance = 0;
  let ways = 1;
  for (let count = 0; count <= few; count++) {
    chance += ways * share ** (length - count) * (1 - share) ** count;
    ways = (ways * (length - count)) / (count + 1);
  }
  return chance;
}
