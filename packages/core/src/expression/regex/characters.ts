import type { Alphabet, CodeRange } from '@heddle/base/regex/alphabet';

/** Whether a character, by its code point, belongs to a set. */
export type CharacterTest = (code: number) => boolean;

/** The alphabet of patterns over the characters of a string. */
export const CHARACTERS: Alphabet<CharacterTest> = {
  setOf(ranges) {
    const table = new Uint8Array(128);
    for (const [low, high] of ranges) table.fill(1, low, high + 1);
    return (code) => code < 128 && table[code] === 1;
  },
  complement: not,
  property(name, negated) {
    for (const property of [name, `Script=${name}`]) {
      try {
        // A single character cannot backtrack.
        const pattern = new RegExp(`^\\${negated ? 'P' : 'p'}{${property}}$`, 'u');
        return (code) => pattern.test(String.fromCodePoint(code));
      } catch {
        continue;
      }
    }
    return null;
  },
  character(codePoint, ignoreCase) {
    if (!ignoreCase) return { type: 'set', set: (code) => code === codePoint };
    const lower = String.fromCodePoint(codePoint).toLowerCase();
    return { type: 'set', set: (code) => String.fromCodePoint(code).toLowerCase() === lower };
  },
  characterClass({ sets, ranges }, { negated, ignoreCase }) {
    const tests = [...sets, ...ranges.map(within)];
    const any: CharacterTest = tests.length === 1 ? tests[0]! : (code) => tests.some((test) => test(code));
    const cased = ignoreCase ? eitherCase(any) : any;
    return { type: 'set', set: negated ? not(cased) : cased };
  },
};

function within([low, high]: CodeRange): CharacterTest {
  return (code) => code >= low && code <= high;
}

function not(test: CharacterTest): CharacterTest {
  return (code) => !test(code);
}

function eitherCase(test: CharacterTest): CharacterTest {
  return (code) => {
    if (test(code)) return true;
    const character = String.fromCodePoint(code);
    return test(character.toLowerCase().codePointAt(0)!) || test(character.toUpperCase().codePointAt(0)!);
  };
}
