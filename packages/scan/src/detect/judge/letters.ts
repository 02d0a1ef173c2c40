/** Statistics of the letters of words, as `scripts/train-judge.ts` counts them. */
export interface LetterTables {
  /** Logarithm of how likely a letter follows another in words: one byte a pair, base64. */
  pairs: string;
  /** Whether three letters occur in words: one bit each, base64. */
  triples: string;
}

const LETTERS = 26;
/** Steps of the logarithm in one unit of a stored pair. */
export const PAIR_SCALE = 24;

/** Tells words from letters that were drawn at random. */
export class Letters {
  readonly #pairs: Uint8Array;
  readonly #triples: Uint8Array;

  constructor({ pairs, triples }: LetterTables) {
    this.#pairs = Buffer.from(pairs, 'base64');
    this.#triples = Buffer.from(triples, 'base64');
  }

  /** Returns how words the letters of a text are: means over its pairs of letters, and the share of letters in words. */
  measure(text: string): { pairs: number; triples: number; covered: number; longest: number } {
    const { length } = text;
    let pairs = 0;
    let pairCount = 0;
    let triples = 0;
    let tripleCount = 0;
    let covered = 0;
    let run = 0;
    let longest = 0;
    let before = -1;
    let second = -1;
    for (let at = 0; at < length; at++) {
      const letter = letterOf(text.charCodeAt(at));
      // A capital begins a word, unless it follows another one.
      if (letter >= 0 && isCapital(text.charCodeAt(at)) && at > 0 && !isCapital(text.charCodeAt(at - 1))) {
        before = -1;
        second = -1;
      }
      if (letter >= 0 && before >= 0) {
        pairs += this.#pairs[before * LETTERS + letter]! / PAIR_SCALE;
        pairCount++;
        if (second >= 0) {
          tripleCount++;
          if (this.#has((second * LETTERS + before) * LETTERS + letter)) {
            triples++;
            run = run === 0 ? 3 : run + 1;
          } else run = 0;
        }
      }
      if (letter < 0 || second < 0) {
        if (run > 3) covered += run;
        run = letter < 0 || before < 0 ? 0 : run;
      }
      longest = Math.max(longest, run);
      second = letter < 0 ? -1 : before;
      before = letter;
    }
    if (run > 3) covered += run;
    return {
      pairs: pairCount === 0 ? 0 : pairs / pairCount,
      triples: tripleCount === 0 ? 0 : triples / tripleCount,
      covered: length === 0 ? 0 : Math.min(1, covered / length),
      longest,
    };
  }

  #has(index: number): boolean {
    return ((this.#triples[index >> 3]! >> (index & 7)) & 1) === 1;
  }
}

function isCapital(code: number): boolean {
  return code >= 0x41 && code <= 0x5a;
}

/** Returns a letter's place in the alphabet, in any case; -1 for anything else. */
function letterOf(code: number): number {
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x7a && code >= 0x41 ? lower - 0x61 : -1;
}
