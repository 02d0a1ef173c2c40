import { beginningsOf } from './beginnings.ts';

/** An automaton as plain data, before it is loaded into a scanner's memory. */
export interface KeywordAutomaton {
  /** The class of each byte; class 0 contains all bytes that no keyword has. */
  classOf: Uint8Array;
  classes: number;
  states: number;
  /** `next[state * classes + class]`. State 0 is the root. */
  next: Uint32Array;
  /** Keywords that end in state s, by index: `outputs[first[s]]` to before `outputs[first[s + 1]]`, longest first. */
  first: Uint32Array;
  outputs: Uint32Array;
  longest: number;
  /** Tables of possible keyword beginnings; null if testing them does not pay off. */
  beginnings: Uint8Array | null;
}

/**
 * Builds an Aho-Corasick automaton with explicit transitions. Keywords are latin1, lower case and not empty; ASCII
 * letters match in either case.
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
    first: Uint32Array.from(firsts(outputs)),
    outputs: Uint32Array.from(outputs.flat()),
    longest: Math.max(0, ...keywords.map(({ length }) => length)),
    beginnings: beginningsOf(keywords),
  };
}

/** Returns the keywords that end in a state, by index, longest first. */
export function outputsOf({ first, outputs }: KeywordAutomaton, state: number): Uint32Array {
  return outputs.subarray(first[state], first[state + 1]);
}

function firsts(outputs: readonly (readonly number[])[]): number[] {
  let total = 0;
  return [0, ...outputs.map(({ length }) => (total += length))];
}

/**
 * The most frequent bytes of source code: with class 0, those that share the first line of a state in `KeywordScanner`.
 */
const FREQUENT = ' etaoinsrlcdpumfhgybvwkx_."=-/1';

function classifyBytes(keywords: readonly string[]): { classOf: Uint8Array; classes: number } {
  const classOf = new Uint8Array(256);
  let classes = 1;
  const bytes = new Set(keywords.flatMap((word) => [...Buffer.from(word, 'latin1')]));
  const frequent = [...Buffer.from(FREQUENT)].filter((byte) => bytes.has(byte));
  for (const byte of new Set([...frequent, ...bytes])) classOf[byte] = classes++;
  for (let upper = 0x41; upper <= 0x5a; upper++) classOf[upper] = classOf[upper | 0x20]!;
  return { classOf, classes };
}

interface Trie {
  /** -1 if there is no child yet. */
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
  const at = new Uint32Array(keywords.length);
  // By depth, so that the states of most bytes lie together and stay in the processor's caches.
  for (let depth = 0, isOpen = true; isOpen; depth++) {
    isOpen = false;
    keywords.forEach((word, index) => {
      if (depth >= word.length) return;
      const cell = at[index]! * classes + classOf[word.charCodeAt(depth)]!;
      if (trie.next[cell] === -1) trie.next[cell] = add();
      at[index] = trie.next[cell]!;
      isOpen = true;
    });
  }
  keywords.forEach((_, index) => trie.ends[at[index]!]!.push(index));
  return trie;
}

/**
 * Completes the transitions breadth first: a missing child is that of the longest proper suffix that is a state, whose
 * outputs are inherited.
 */
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
