/** Forms of credentials: literal text with `{{alphabet:length}}` for each run of random characters. */

const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const LOWER = UPPER.toLowerCase();
const DIGITS = '0123456789';
const ALNUM = UPPER + LOWER + DIGITS;

export const ALPHABETS: Readonly<Record<string, string>> = {
  alnum: ALNUM,
  letters: UPPER + LOWER,
  lower: LOWER + DIGITS,
  upper: UPPER + DIGITS,
  digits: DIGITS,
  hex: `${DIGITS}abcdef`,
  HEX: `${DIGITS}ABCDEF`,
  anyhex: `${DIGITS}abcdefABCDEF`,
  base32: `${UPPER}234567`,
  base58: '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz',
  base64: `${ALNUM}+/`,
  url: `${ALNUM}_-`,
};

const UUID = [8, 4, 4, 4, 12].map((digits) => `{{anyhex:${digits}}}`).join('-');

/** One run of a form. */
export type FormPart =
  | { type: 'literal'; text: string }
  /** `max` is Infinity if unbounded. */
  | { type: 'random'; characters: string; min: number; max: number };

/** The name of an alphabet, further characters, and a length or a range: `{{alnum_-:20-24}}`. */
const PLACEHOLDER = /\{\{([A-Za-z]+\d*)([^{}]*?):(\d+)(-(\d*))?\}\}/g;

/** A form that cannot be read. */
export class FormError extends Error {}

/** Splits a form into its runs. Throws FormError. */
export function parseForm(form: string): FormPart[] {
  const parts: FormPart[] = [];
  const text = form.replaceAll('{{uuid}}', UUID);
  let at = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    if (match.index > at) parts.push({ type: 'literal', text: text.slice(at, match.index) });
    at = match.index + match[0].length;
    parts.push(randomPart(match));
  }
  if (at < text.length) parts.push({ type: 'literal', text: text.slice(at) });
  const isBroken = parts.some((part) => part.type === 'literal' && /\{\{|\}\}/.test(part.text));
  if (isBroken || parts.length === 0) throw new FormError(`cannot read ${JSON.stringify(form)}`);
  return parts;
}

function randomPart([whole, name = '', more = '', min = '', range, max = '']: RegExpExecArray): FormPart {
  const known = ALPHABETS[name];
  if (known === undefined) {
    throw new FormError(`there is no alphabet ${name}; use one of ${Object.keys(ALPHABETS).join(', ')}`);
  }
  const least = Number(min);
  const most = range === undefined ? least : max === '' ? Infinity : Number(max);
  if (most < least) throw new FormError(`the range of ${whole} ends before it begins`);
  return { type: 'random', characters: known + more, min: least, max: most };
}

/** Returns the pattern of a form, without groups. */
export function formPattern(parts: readonly FormPart[]): string {
  return parts.map((part) => (part.type === 'literal' ? escapePattern(part.text) : randomPattern(part))).join('');
}

function randomPattern({ characters, min, max }: FormPart & { type: 'random' }): string {
  const count = min === max ? `{${min}}` : `{${min},${max === Infinity ? '' : max}}`;
  return `[${classOf(characters)}]${count}`;
}

const classes = new Map<string, string>();

/** Returns characters as a class without its brackets: runs as ranges, signs escaped. */
export function classOf(characters: string): string {
  let text = classes.get(characters);
  if (text === undefined) classes.set(characters, (text = makeClass(characters)));
  return text;
}

function makeClass(characters: string): string {
  const codes = [...new Set(characters)].map((each) => each.charCodeAt(0)).sort((left, right) => left - right);
  let text = '';
  for (let at = 0; at < codes.length;) {
    let last = at;
    while (codes[last + 1] === codes[last]! + 1) last++;
    const from = escapeInClass(codes[at]!);
    text += last - at < 2 ? from : `${from}-${escapeInClass(codes[last]!)}`;
    at = last - at < 2 ? at + 1 : last + 1;
  }
  return text;
}

function escapeInClass(code: number): string {
  const character = String.fromCharCode(code);
  return /[\\\]^[-]/.test(character) ? `\\${character}` : character;
}

export function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/** Returns the longest literal of a form in lower case; an empty text if it has none. */
export function longestLiteral(parts: readonly FormPart[]): string {
  const literals = parts.flatMap((part) => (part.type === 'literal' ? [part.text.toLowerCase()] : []));
  return literals.toSorted((left, right) => right.length - left.length)[0] ?? '';
}

/** Share of the usual entropy of a credential that each must have. */
const ENTROPY_SHARE = 0.8;
/** Where an alphabet is large, what is drawn from a part of it may still be a credential. */
const ENTROPY_LEAST_MAX = 3.1;

/** Returns the least entropy of a credential of this form, in bits per byte. */
export function formEntropy(parts: readonly FormPart[]): number {
  const random = parts.filter((part) => part.type === 'random');
  const length = random.reduce((total, { min }) => total + min, 0);
  const size = Math.max(1, ...random.map(({ characters }) => new Set(characters).size));
  const least = Math.min(ENTROPY_LEAST_MAX, ENTROPY_SHARE * usualEntropy(length, size));
  return Math.max(0, Math.round(least * 10) / 10);
}

/** Returns about the entropy of `length` characters that are drawn from an alphabet of `size`. */
function usualEntropy(length: number, size: number): number {
  if (length <= 1 || size <= 1) return 0;
  if (length <= size) return Math.log2(length) - (length - 1) / size;
  return Math.log2(size) - (size - 1) / (2 * Math.LN2 * length);
}
