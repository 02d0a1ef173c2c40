/** An automaton as numbers, before it stands in memory. */
export interface KeywordAutomaton {
  /** For each byte its class; class 0 holds all bytes that no keyword has. */
  classOf: Uint8Array;
  classes: number;
  states: number;
  /** `next[state * classes + class]`. State 0 is the beginning. */
  next: Uint32Array;
  /** For each state the keywords that end there, longest first; by index. */
  outputs: readonly (readonly number[])[];
  longest: number;
}

/**
 * Builds an Aho-Corasick automaton with all its transitions written out. Keywords are latin1, in lower case, not empty;
 * they are found in any case of their ASCII letters.
 */
export function buildKeywordAutomaton(keywords: readonly string[]): KeywordAutomaton {
  const { classOf, classes } = classifyBytes(keywords);
  const trie = buildTrie(keywords, classOf, classes);
  const outputs = completeTransitions(trie, classes);
  return {
    classOf,
    classes,
    states: trie.ends.length,
    next: Uint32Array.from(trie.next),
    outputs,
    longest: Math.max(0, ...keywords.map(({ length }) => length)),
  };
}

function classifyBytes(keywords: readonly string[]): { classOf: Uint8Array; classes: number } {
  const classOf = new Uint8Array(256);
  let classes = 1;
  for (const byte of new Set(keywords.flatMap((word) => [...Buffer.from(word, 'latin1')]))) classOf[byte] = classes++;
  for (let upper = 0x41; upper <= 0x5a; upper++) classOf[upper] = classOf[upper | 0x20]!;
  return { classOf, classes };
}

interface Trie {
  /** -1 where there is no child yet. */
  next: number[];
  /** Keywords that end in each state. */
  ends: number[][];
}

function buildTrie(keywords: readonly string[], classOf: Uint8Array, classes: number): Trie {
  const trie: Trie = { next: [], ends: [] };
  const add = (): number => {
    for (let each = 0; each < classes; each++) trie.next.push(-1);
    return trie.ends.push([]) - 1;
  };
  add();
  keywords.forEach((word, index) => {
    let state = 0;
    for (const byte of Buffer.from(word, 'latin1')) {
      const cell = state * classes + classOf[byte]!;
      if (trie.next[cell] === -1) trie.next[cell] = add();
      state = trie.next[cell]!;
    }
    trie.ends[state]!.push(index);
  });
  return trie;
}

/** Breadth first: a missing child is that of the longest proper suffix that is a state, whose outputs are ours, too. */
function completeTransitions({ next, ends }: Trie, classes: number): number[][] {
  const suffix = new Int32Array(ends.length);
  const queue: number[] = [0];
  for (let head = 0; head < queue.length; head++) {
    const state = queue[head]!;
    if (state !== 0) ends[state]!.push(...ends[suffix[state]!]!);
    for (let each = 0; each < classes; each++) {
      const cell = state * classes + each;
      const fallback = state === 0 ? 0 : next[suffix[state]! * classes + each]!;
      const child = next[cell]!;
      if (child === -1) next[cell] = fallback;
      else {
        suffix[child] = fallback;
        queue.push(child);
      }
    }
  }
  return ends;
}
