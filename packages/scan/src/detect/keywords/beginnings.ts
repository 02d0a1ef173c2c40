/** Bytes of each keyword that are tested before the automaton runs. */
const LENGTH = 3;

/** Keywords of one group share a bit and are not distinguished. */
const GROUPS = 8;

/**
 * With more keywords, nearly every sixteen bytes contain a possible beginning, and the test costs more than it saves.
 */
const KEYWORDS_MAX = 32;

/**
 * Returns where keywords may begin, as six tables of 16 bytes: for the first, second and third byte, by low and high
 * nibble, the groups that have it. Returns null if the automaton alone is faster.
 */
export function beginningsOf(keywords: readonly string[]): Uint8Array | null {
  if (keywords.length === 0 || keywords.length > KEYWORDS_MAX) return null;
  if (keywords.some(({ length }) => length < LENGTH)) return null;
  const tables = new Uint8Array(LENGTH * 2 * 16);
  [...keywords].sort().forEach((word, at) => {
    // Neighbours in this order have most in common.
    const group = 1 << Math.floor((at * GROUPS) / keywords.length);
    for (let place = 0; place < LENGTH; place++) {
      const byte = word.charCodeAt(place);
      for (const each of byte >= 0x61 && byte <= 0x7a ? [byte, byte - 0x20] : [byte]) {
        tables[place * 32 + (each & 0x0f)]! |= group;
        tables[place * 32 + 16 + (each >> 4)]! |= group;
      }
    }
  });
  return tables;
}
