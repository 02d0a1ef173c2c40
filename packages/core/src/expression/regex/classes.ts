/** Whether a character, by its code point, belongs to a class. */
export type CharacterTest = (code: number) => boolean;

export interface Parsed<T> {
  next: number;
  test: T;
}

const digit: CharacterTest = (code) => code >= 48 && code <= 57;
const word: CharacterTest = (code) =>
  digit(code) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95;
const space: CharacterTest = (code) => code === 32 || code === 9 || code === 10 || code === 12 || code === 13;
const lower: CharacterTest = (code) => code >= 97 && code <= 122;
const upper: CharacterTest = (code) => code >= 65 && code <= 90;
const letter: CharacterTest = (code) => lower(code) || upper(code);
const not =
  (test: CharacterTest): CharacterTest =>
  (code) =>
    !test(code);

export const isWordCharacter = word;

const CLASS_LETTERS: ReadonlyMap<string, CharacterTest> = new Map([
  ['d', digit],
  ['D', not(digit)],
  ['w', word],
  ['W', not(word)],
  ['s', space],
  ['S', not(space)],
]);

const NAMED_CLASSES: ReadonlyMap<string, CharacterTest> = new Map<string, CharacterTest>([
  ['alpha', letter],
  ['digit', digit],
  ['alnum', (code) => letter(code) || digit(code)],
  ['lower', lower],
  ['upper', upper],
  ['space', (code) => space(code) || code === 11],
  ['word', word],
  ['xdigit', (code) => digit(code) || (code >= 65 && code <= 70) || (code >= 97 && code <= 102)],
  ['punct', (code) => code > 32 && code < 127 && !letter(code) && !digit(code)],
]);

const SINGLE_LETTERS: ReadonlyMap<string, number> = new Map([
  ['n', 10],
  ['t', 9],
  ['r', 13],
  ['f', 12],
  ['v', 11],
  ['a', 7],
]);

/** Parses `\d`, `\pL`, `\p{Lu}`; `at` points after the backslash. */
export function classEscape(characters: readonly string[], at: number): Parsed<CharacterTest> | null {
  const name = characters[at];
  const simple = name === undefined ? undefined : CLASS_LETTERS.get(name);
  if (simple !== undefined) return { next: at + 1, test: simple };
  if (name !== 'p' && name !== 'P') return null;
  const property = /^(?:\{(\^?)(\w{1,40})\}|([A-Z]))/.exec(characters.slice(at + 1, at + 44).join(''));
  if (property === null) return null;
  const test = propertyTest(property[2] ?? property[3]!);
  if (test === null) return null;
  const negated = (name === 'P') !== (property[1] === '^');
  return { next: at + 1 + property[0].length, test: negated ? not(test) : test };
}

function propertyTest(name: string): CharacterTest | null {
  for (const property of [name, `Script=${name}`]) {
    try {
      // A single character cannot backtrack.
      const pattern = new RegExp(`^\\p{${property}}$`, 'u');
      return (code) => pattern.test(String.fromCodePoint(code));
    } catch {
      continue;
    }
  }
  return null;
}

/** Parses an escape for one character; `at` points after the backslash. */
export function singleEscape(characters: readonly string[], at: number): { next: number; code: number } | null {
  const character = characters[at];
  if (character === undefined) return null;
  const known = SINGLE_LETTERS.get(character);
  if (known !== undefined) return { next: at + 1, code: known };
  if (character === 'x') {
    const hex = /^(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{2}))/.exec(characters.slice(at + 1, at + 9).join(''));
    const code = hex === null ? Infinity : Number.parseInt(hex[1] ?? hex[2]!, 16);
    return code > 0x10ffff ? null : { next: at + 1 + hex![0].length, code };
  }
  return /^[A-Za-z0-9]$/.test(character) ? null : { next: at + 1, code: character.codePointAt(0)! };
}

/** Parses a bracketed class; `at` points after the opening bracket. Null if it is invalid. */
export function parseClass(
  characters: readonly string[],
  at: number,
  ignoreCase: boolean,
): Parsed<CharacterTest> | null {
  const tests: CharacterTest[] = [];
  const negated = characters[at] === '^';
  let next = negated ? at + 1 : at;
  for (let first = true; first || characters[next] !== ']'; first = false) {
    const item = classItem(characters, next);
    if (item === null) return null;
    next = item.next;
    tests.push(item.test);
  }
  const any: CharacterTest = (code) => tests.some((test) => test(code));
  const cased = ignoreCase ? eitherCase(any) : any;
  return { next: next + 1, test: negated ? not(cased) : cased };
}

function eitherCase(test: CharacterTest): CharacterTest {
  return (code) => {
    if (test(code)) return true;
    const character = String.fromCodePoint(code);
    return test(character.toLowerCase().codePointAt(0)!) || test(character.toUpperCase().codePointAt(0)!);
  };
}

function classItem(characters: readonly string[], at: number): Parsed<CharacterTest> | null {
  if (characters[at] === '[' && characters[at + 1] === ':') {
    const named = /^\[:(\^?)(\w+):\]/.exec(characters.slice(at, at + 16).join(''));
    const test = named === null ? undefined : NAMED_CLASSES.get(named[2]!);
    if (test === undefined) return null;
    return { next: at + named![0].length, test: named![1] === '^' ? not(test) : test };
  }
  const ofClass = characters[at] === '\\' ? classEscape(characters, at + 1) : null;
  if (ofClass !== null) return ofClass;
  const from = classCharacter(characters, at);
  if (from === null) return null;
  const rest = characters[from.next + 1];
  if (characters[from.next] !== '-' || rest === ']' || rest === undefined) {
    return { next: from.next, test: (code) => code === from.code };
  }
  const to = classCharacter(characters, from.next + 1);
  if (to === null || to.code < from.code) return null;
  return { next: to.next, test: (code) => code >= from.code && code <= to.code };
}

function classCharacter(characters: readonly string[], at: number): { next: number; code: number } | null {
  const character = characters[at];
  if (character === undefined) return null;
  return character === '\\' ? singleEscape(characters, at + 1) : { next: at + 1, code: character.codePointAt(0)! };
}
