import { readFileSync } from 'node:fs';

import type { LetterTables } from '../../packages/scan/src/detect/judge/letters.ts';
import { PAIR_SCALE } from '../../packages/scan/src/detect/judge/letters.ts';

/** Words of this project's documentation and code, and others of everyday life. */
export const WORDS: readonly string[] = readFileSync(new URL('./words.txt', import.meta.url), 'utf8')
  .split(/\s+/)
  .filter(Boolean);

const LETTERS = 26;
/** Words in which three letters must occur in a row to count as usual. */
const TRIPLE_WORDS_MIN = 3;

/** Counts which letters follow each other in words. */
export function letterTables(words: readonly string[]): LetterTables {
  const pairs = new Float64Array(LETTERS * LETTERS).fill(0.5);
  const triples = new Uint16Array(LETTERS ** 3);
  for (const word of words) {
    const letters = Array.from(word, (letter) => letter.charCodeAt(0) - 0x61);
    for (let at = 1; at < letters.length; at++) {
      pairs[letters[at - 1]! * LETTERS + letters[at]!]!++;
      if (at > 1) triples[(letters[at - 2]! * LETTERS + letters[at - 1]!) * LETTERS + letters[at]!]!++;
    }
  }
  const bits = new Uint8Array(Math.ceil(triples.length / 8));
  for (const [index, count] of triples.entries())
    if (count >= TRIPLE_WORDS_MIN) bits[index >> 3] = bits[index >> 3]! | (1 << (index & 7));
  return { pairs: Buffer.from(pairBytes(pairs)).toString('base64'), triples: Buffer.from(bits).toString('base64') };
}

/** Logarithms of the probabilities of each pair, given its first letter, above that of chance. */
function pairBytes(pairs: Float64Array): Uint8Array {
  return Uint8Array.from(pairs, (count, index) => {
    const first = Math.floor(index / LETTERS) * LETTERS;
    const total = pairs.subarray(first, first + LETTERS).reduce((sum, each) => sum + each, 0);
    const above = Math.log2((count / total) * LETTERS) + 5;
    return Math.max(0, Math.min(255, Math.round(above * PAIR_SCALE)));
  });
}
