/** The texts on which the rules are tested: templates whose tokens are created when they are read. */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const LOWER = UPPER.toLowerCase();
const DIGITS = '0123456789';
const BECH32 = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';

const ALPHABETS: Readonly<Record<string, string>> = {
  alnum: UPPER + LOWER + DIGITS,
  letters: UPPER + LOWER,
  lower: LOWER + DIGITS,
  upper: UPPER + DIGITS,
  digits: DIGITS,
  hex: `${DIGITS}abcdef`,
  HEX: `${DIGITS}ABCDEF`,
  base64: `${UPPER}${LOWER}${DIGITS}+/`,
  url: `${UPPER}${LOWER}${DIGITS}_-`,
  base32: `${UPPER}234567`,
  b32l: `${LOWER}234567`,
  base58: '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz',
  bech32: BECH32,
  bech32u: BECH32.toUpperCase(),
};

export interface CaseText {
  path: string;
  text: string;
}

/** A text, optionally at a path of its own. */
type Template = string | CaseText;

export interface RuleCases {
  positive: readonly Template[];
  negative: readonly Template[];
}

let known: ReadonlyMap<string, RuleCases> | undefined;

/** The cases of each rule, from all files, which are read at the first call. */
export function readCases(): ReadonlyMap<string, RuleCases> {
  return (known ??= readAll());
}

function readAll(): Map<string, RuleCases> {
  const files = globSync('cases/*.json', { cwd: import.meta.dirname }).sort();
  const cases = new Map<string, RuleCases>();
  for (const file of files) {
    const read = JSON.parse(readFileSync(join(import.meta.dirname, file), 'utf8')) as Record<string, RuleCases>;
    for (const [id, each] of Object.entries(read)) {
      if (cases.has(id)) throw new Error(`${basename(file)}: there are two entries for ${id}`);
      cases.set(id, each);
    }
  }
  return cases;
}

/**
 * Fills `{{alphabet:length}}` and `{{uuid}}` with characters that depend only on `seed`. The files contain no complete
 * tokens, so that none can be mistaken for a real one.
 */
export function expandCase(template: Template, seed: string): CaseText {
  const { path, text } = typeof template === 'string' ? { path: 'case.txt', text: template } : template;
  const next = numbers(seed);
  const pick = (alphabet: string, length: number): string =>
    Array.from({ length }, () => alphabet[next(alphabet.length)]!).join('');
  const expanded = text.replaceAll(/\{\{(\w+)(?::(\d+))?\}\}/g, (whole, name: string, length?: string) => {
    if (name === 'uuid') return [8, 4, 4, 4, 12].map((digits) => pick(ALPHABETS.hex!, digits)).join('-');
    const alphabet = ALPHABETS[name];
    if (length === undefined) return whole;
    if (alphabet === undefined) throw new Error(`there is no alphabet ${name}`);
    return pick(alphabet, Number(length));
  });
  return { path, text: expanded };
}

/** Returns whole numbers below a limit, the same for the same seed (mulberry32 over an FNV-1a hash). */
export function numbers(seed: string): (below: number) => number {
  let state = 0x811c9dc5;
  for (const character of seed) state = Math.imul(state ^ character.codePointAt(0)!, 0x01000193);
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
