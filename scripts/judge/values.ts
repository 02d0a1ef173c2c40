import type { Random } from './random.ts';
import { WORDS } from './words.ts';

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const UPPER = LOWER.toUpperCase();
const DIGITS = '0123456789';
const ALNUM = UPPER + LOWER + DIGITS;
const HEX = `${DIGITS}abcdef`;
const SYMBOLS = '!@#$%^&*-_=+?.~';
/** Signs that generators of passwords use, too, and that code is full of. */
const CODE_SIGNS = '()[]<>|,:&/;{}';

/** Makes a value of one form. */
type Form = (random: Random) => string;

export const word = (random: Random): string => random.pick(WORDS);
const title = (text: string): string => text[0]!.toUpperCase() + text.slice(1);
export const words = (random: Random, from: number, to: number): string[] =>
  Array.from({ length: random.between(from, to) }, () => word(random));
export const camel = (random: Random, from = 2, to = 4): string =>
  words(random, from, to)
    .map((each, at) => (at === 0 ? each : title(each)))
    .join('');

const LENGTHS = [16, 20, 22, 24, 27, 32, 32, 32, 36, 40, 40, 43, 48, 64, 64, 86, 88];

/** Keys and tokens as programs make them. */
export const TOKENS: readonly Form[] = [
  (random) => random.letters(HEX, random.pick([16, 20, 24, 32, 32, 32, 40, 40, 48, 64, 64])),
  (random) => random.letters(HEX.toUpperCase(), random.pick([16, 20, 32, 40, 64])),
  (random) => random.letters(ALNUM, random.pick(LENGTHS)),
  (random) => random.letters(ALNUM, random.pick(LENGTHS)),
  (random) => random.letters(LOWER + DIGITS, random.pick(LENGTHS)),
  (random) => random.letters(UPPER + DIGITS, random.pick(LENGTHS)),
  (random) => random.letters(`${ALNUM}-_`, random.pick(LENGTHS)),
  (random) => random.letters(`${ALNUM}+/`, random.pick(LENGTHS)),
  (random) => `${random.letters(`${ALNUM}+/`, 4 * random.between(5, 21) - 1)}=`,
  (random) => `${random.letters(`${ALNUM}+/`, 4 * random.between(5, 21) - 2)}==`,
  (random) =>
    `${random.letters(LOWER, random.between(2, 5))}${random.pick(['_', '-', '.'])}${random.letters(ALNUM, random.between(16, 40))}`,
  (random) =>
    `${random.letters(ALNUM, random.between(8, 24))}${random.pick(['.', '-', ':'])}${random.letters(ALNUM, random.between(16, 40))}`,
  (random) => uuid(random),
  (random) => uuid(random),
  (random) =>
    `${word(random).slice(0, 4)}${random.pick(['_', '-', '_live_', '-api-'])}${random.letters(random.pick([HEX, ALNUM]), random.pick([24, 32, 40]))}`,
  (random) => random.letters(`${UPPER}234567`, random.pick([16, 26, 32, 52])),
  (random) => random.letters(LOWER + UPPER, random.pick([24, 32, 40])),
];

/** Passwords that people choose. */
export const CHOSEN: readonly Form[] = [
  (random) =>
    `${title(word(random))}${random.letters(DIGITS, random.between(2, 4))}${random.letters('!@#$?.*', random.between(0, 2))}`,
  (random) => `${word(random)}${random.letters(DIGITS, random.between(2, 6))}`,
  (random) => `${words(random, 2, 3).map(title).join('')}${random.letters(DIGITS, random.between(1, 4))}`,
  (random) =>
    `${title(word(random))}${random.pick(['@', '#', '!', '_', '-', '$'])}${random.letters(DIGITS, random.between(2, 4))}`,
  (random) =>
    random.chance(0.4)
      ? signed(random, words(random, 2, 3).join(''))
      : leet(random, word(random) + random.letters(DIGITS, random.between(1, 4))),
  (random) => `${words(random, 3, 4).join('-')}-${random.letters(DIGITS, 2)}`,
  (random) => strewn(random, `${leet(random, word(random))}${random.letters(DIGITS, random.between(2, 4))}`),
];

/** Passwords that people choose, and those that generators make. */
export const PASSWORDS: readonly Form[] = [
  ...CHOSEN,
  (random) => random.letters(ALNUM, random.between(8, 16)),
  (random) => random.letters(ALNUM, random.between(10, 20)),
  (random) => random.letters(ALNUM + SYMBOLS, random.between(8, 24)),
  (random) => random.letters(ALNUM + SYMBOLS, random.between(12, 32)),
  (random) => random.letters(LOWER + DIGITS, random.between(8, 16)),
  (random) => random.letters(HEX, random.between(8, 16)),
  (random) => random.letters(ALNUM + SYMBOLS + CODE_SIGNS, random.between(8, 24)),
  (random) => strewn(random, random.letters(ALNUM, random.between(8, 16))),
  (random) => strewn(random, random.letters(ALNUM, random.between(10, 24))),
];

/** Puts one to three signs into a text. */
function strewn(random: Random, text: string): string {
  let strewn = text;
  for (let count = random.between(1, 3); count > 0; count--) {
    const at = random.between(1, strewn.length - 1);
    strewn = strewn.slice(0, at) + random.letters(SYMBOLS + CODE_SIGNS, 1) + strewn.slice(at);
  }
  return strewn;
}

const SIGNS: Readonly<Record<string, string>> = { a: '@', e: '3', i: '1', o: '0', s: '$' };

function leet(random: Random, text: string): string {
  const spelled = Array.from(text, (letter) => (random.chance(0.7) ? (SIGNS[letter] ?? letter) : letter)).join('');
  return random.chance(0.5) ? title(spelled) : spelled;
}

/** Writes a sign for one or two letters that look like it. */
function signed(random: Random, text: string): string {
  const places = Array.from(text, (_, at) => at)
    .slice(1, -1)
    .filter((at) => text[at]! in SIGNS);
  let spelled = text;
  for (let count = random.between(1, 2); count > 0 && places.length > 0; count--) {
    const at = random.pick(places);
    spelled = spelled.slice(0, at) + SIGNS[text[at]!]! + spelled.slice(at + 1);
  }
  return random.chance(0.5) ? title(spelled) : spelled;
}

function uuid(random: Random): string {
  return [8, 4, 4, 4, 12].map((length) => random.letters(HEX, length)).join('-');
}

const MEANINGLESS =
  'changeme change-me changeit change_this your your-secret your_token my-secret mysecret mypassword password passw0rd secret ' +
  'example sample dummy fake mock test testing placeholder redacted todo insert-here replace-me none null undefined foo bar ' +
  'foobar letmein welcome admin root guest default super-secret supersecret not-a-secret some value string';
const EMPTY = MEANINGLESS.split(' ');

/** What stands in the place of secrets: placeholders, identifiers, names, and text about them. */
export const HARMLESS: readonly Form[] = [
  (random) =>
    `${title(random.pick(['password', 'secret', 'test', 'changeme', 'example', 'default', 'dummy']))}${random.letters(DIGITS, random.between(1, 4))}${random.letters('!@#$', random.between(0, 2))}`,
  (random) =>
    leet(
      random,
      `${random.pick(['password', 'passwort', 'secret', 'test'])}${random.letters(DIGITS, random.between(0, 4))}`,
    ),
  (random) =>
    `${random.pick(['Password', 'P@ssw0rd', 'Passw0rd', 'Secret', 'Test', 'S3cret'])}${random.pick(['1', '12', '123', '1234', ''])}${random.pick(['!', '', '!!', '#'])}`,
  (random) =>
    random.pick(EMPTY) + random.pick(['', '', '1', '123', '12345', '!', '_here', '-key', '-token', '-password']),
  (random) =>
    `${random.pick(EMPTY)}${random.pick(['-', '_', ''])}${random.pick(EMPTY)}${random.pick(['', '1', '123', '42'])}`,
  (random) =>
    `${random.pick(EMPTY)}-${word(random)}-${random.pick(['token', 'key', 'secret', 'password', 'value'])}${random.pick(['', '-1', '2', '_123'])}`,
  (random) =>
    `${random.pick(['your', 'my', 'test', 'some', 'the', 'fake'])}${random.pick(['-', '_'])}${words(random, 1, 3).join(random.pick(['-', '_']))}`,
  (random) => camel(random) + random.pick(['', '', '1', '2', '32', '64']),
  (random) => title(camel(random)) + random.pick(['', '2', '256', 'V1']),
  (random) => words(random, 2, 5).join(random.pick(['_', '-', '.'])) + random.pick(['', '1', '2', '_v2', '-3']),
  (random) => words(random, 2, 5).join('_').toUpperCase() + random.pick(['', '_1', '_2', '2']),
  (random) => `${words(random, 1, 3).join('/')}/${word(random)}${random.pick(['', '.1', '2', '-v3'])}`,
  (random) => `${words(random, 2, 4).join('.')}.${camel(random, 1, 2)}${random.pick(['', '1', '2'])}`,
  (random) => `${word(random)}-${word(random)}-${random.letters(DIGITS, random.between(1, 4))}`,
  (random) =>
    `${word(random)}${random.pick(['-', '_', '.', ':'])}${random.letters(DIGITS, random.between(1, 3))}${random.pick(['', '.0', '-alpine', '-beta.1'])}`,
  (random) => `${random.letters('0', random.between(4, 12))}${random.letters(DIGITS, random.between(1, 8))}`,
  (random) => random.letters(random.letters(ALNUM, random.between(1, 3)), random.between(8, 40)),
  (random) => runs(random),
  (random) => `${word(random)}@${word(random)}.${random.pick(['com', 'org', 'io', 'test'])}`,
  (random) => `#${random.letters(HEX, 6)}`,
  (random) => words(random, 1, 2).join('') + random.pick(['=', ':', '?', '&', ',', '...', '/', ')']) + word(random),
  (random) => `${word(random)}[${random.pick(['0', '1', 'key', "'key'"])}].${word(random)}`,
  (random) =>
    `${random.pick(['', `${word(random)}.`, '*', '&', '!'])}${camel(random, 1, 3)}[${random.pick([word(random), camel(random), '0', '16'])}]`,
  (random) =>
    `${random.pick(['', '!', '&', '('])}${camel(random, 1, 3)}(${random.pick(['', word(random), camel(random), '1', '8', '32'])}${random.pick([')', '),', ')[0]', ').' + word(random)])}`,
  (random) =>
    `${title(camel(random, 1, 2))}<${title(word(random))}${random.pick(['>', `,${title(word(random))}>`, '[]>'])}`,
  (random) =>
    `${word(random)}${random.pick(['->', '::', '|', ',', '/'])}${camel(random, 1, 3)}${random.pick(['', '1', '()', '[0]'])}`,
  (random) =>
    `[${random.pick(['A-Za-z0-9', 'a-f0-9', 'A-Z0-9_', '\\w.-', '^:@'])}]{${random.between(8, 64)}${random.pick(['}', ',}', ',128}'])}`,
  (random) =>
    `(${random.pick(['?:', '?i:', ''])}${word(random)}|${word(random)}${random.pick([')', ')+', ')[a-z0-9]'])}`,
  (random) =>
    `${word(random)}=${random.pick([word(random), '1', '%s'])}&${word(random)}=${random.pick([word(random), random.letters(DIGITS, 3), '%d'])}`,
  (random) =>
    `${random.pick(['<', '[', '{', '('])}${words(random, 1, 3).join(random.pick(['-', '_', '']))}${random.pick(['', '1', '>', ']'])}`,
  (random) => `${word(random)}|${word(random)}|${word(random)}${random.letters(DIGITS, 1)}`,
  (random) =>
    Buffer.from(words(random, 2, 4).join(' '))
      .toString('base64')
      .replaceAll('=', '')
      .slice(0, random.chance(0.5) ? 80 : 16),
];

function runs(random: Random): string {
  const alphabet = random.pick([LOWER, DIGITS, UPPER, HEX, '1234567890', 'abcdef']);
  const from = random.between(0, 4);
  const run = alphabet.repeat(3).slice(from, from + random.between(6, 32));
  return random.pick(['', '', word(random), 'test']) + run;
}

/** Digests and identifiers: random, but no secrets where their name says so. */
export const IDENTIFIERS: readonly Form[] = [
  (random) => random.letters(HEX, random.pick([8, 16, 32, 40, 40, 64, 64, 128])),
  (random) => uuid(random),
  (random) => `${random.letters(`${ALNUM}+/`, random.pick([27, 43, 86]))}=`,
  (random) => random.letters(ALNUM, random.between(8, 24)),
  (random) => `${word(random)}-${random.letters(LOWER + DIGITS, random.between(6, 12))}`,
  (random) => random.letters(DIGITS, random.between(6, 20)),
  (random) => `${word(random)}.${random.letters(HEX, 8)}.${random.pick(['js', 'css', 'map'])}`,
];
