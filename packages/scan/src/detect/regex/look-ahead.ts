import type { RegexNode } from './ast.ts';
import { hasByte, setOf } from './byte-set.ts';
import { NOWHERE, PlacesOf } from './places.ts';
import { compileProgram, type Instruction, ProgramTooLarge } from './program.ts';

/** A pattern that begins with a literal: lower case, as latin1; it matches in any case. */
export interface AheadPattern {
  node: RegexNode;
  literal: string;
  /** Another one with the same beginning that must match as well. */
  and?: RegexNode | null;
}

/** Its answer is a word of bits. */
export const PATTERNS_MAX = 30;
/** The answer if it would need too many bytes or states to know. */
export const UNDECIDED = -1;

/** Bytes that are read at most; automaton.as has the same bound. */
const REACH = 64;
/** Those that rows are first made for. */
const STATES_FIRST = 16;
/** Each has a row of one number for each class of bytes, usually some 100 bytes. */
const STATES_MAX = 1024;
/** What a row says of a byte that has not occurred there, and of one that would need a state too many. */
const UNKNOWN = 0;
const TOO_MANY = -0x8000_0000;

/** Returns zeros, of which most are never written; null if there are no more. */
type AllocateWords = (length: number) => Int32Array | null;

/** Where `LookAhead.table` has what the automaton needs. */
const TABLE = { rows: 0, start: 1, leftOut: 2, classOf: 3 };
const TABLE_WORDS = TABLE.classOf + 256 / 4;

/** There is no memory for another look-ahead. */
class LookAheadMemoryUsedUp extends Error {}

/**
 * Looks which of a few patterns may match at a place where all their literals end: reads bytes, each once, until that is
 * known. It leaves out no match; of assertions it knows nothing, and takes them to hold.
 *
 * A deterministic automaton, whose states are made when a text first leads to them. A state is the place of its row; a
 * final one is negative: -1 minus the bits of the patterns that may match. The automaton of keywords follows it, too, as
 * `table` describes it.
 */
export class LookAhead {
  /** Of the patterns, then of those that must match as well. */
  readonly #programs: readonly PlacesOf[];
  /** By pattern: the place of the program that must match as well, or 0. */
  readonly #partners: readonly number[];
  readonly #states = new Map<string, number>();
  readonly #situations: Situation[] = [];
  readonly #start: number;
  /** Bytes that no pattern distinguishes have one class. */
  readonly #classOf: Uint8Array;
  readonly #classes: number;
  readonly #allocate: AllocateWords;
  /** How the automaton of keywords follows it, if that can read the memory: `TABLE`, then the classes of the bytes. */
  readonly table: Int32Array;
  #rows: Int32Array;

  /** Throws ProgramTooLarge, and LookAheadMemoryUsedUp. */
  constructor(patterns: readonly AheadPattern[], allocate: AllocateWords = (length) => new Int32Array(length)) {
    const ands = patterns.filter(({ and }) => and);
    const all = [...patterns, ...ands.map(({ and, literal }) => ({ node: and!, literal }))];
    if (all.length > PATTERNS_MAX) throw new RangeError(`look ahead: at most ${PATTERNS_MAX} patterns`);
    this.#partners = patterns.map((each) => (each.and ? patterns.length + ands.indexOf(each) : 0));
    const programs = all.map(({ node }) => compileProgram(node));
    this.#programs = programs.map((program) => new PlacesOf(program));
    ({ classOf: this.#classOf, classes: this.#classes } = classesOf(programs.flat()));
    this.#allocate = allocate;
    this.table = wordsFrom(allocate, TABLE_WORDS);
    new Uint8Array(this.table.buffer, this.table.byteOffset + 4 * TABLE.classOf, 256).set(this.#classOf);
    this.#rows = wordsFrom(allocate, STATES_FIRST * this.#classes);
    this.table[TABLE.rows] = this.#rows.byteOffset;
    const open = all.map(({ literal }, at) => afterLiteral(this.#programs[at]!, literal));
    this.#start = this.#stateOf({ open, passed: 0 });
    this.table[TABLE.start] = this.#start;
  }

  /** Returns how many hits the automaton left out by it since the last call. */
  takeLeftOut(): number {
    const count = this.table[TABLE.leftOut]!;
    this.table[TABLE.leftOut] = 0;
    return count;
  }

  /**
   * Returns the bits of the patterns that may match, or `UNDECIDED`; reads `bytes` from `at` to before `end`.
   * @param known where the automaton of keywords ended, which is the answer if it is final
   */
  outlook(bytes: Uint8Array, at: number, end: number, known = UNKNOWN): number {
    const classOf = this.#classOf;
    const stop = Math.min(end, at + REACH);
    let state = known < UNKNOWN ? known : this.#start;
    for (let next = at; state > UNKNOWN && next < stop; next++) {
      const byte = bytes[next]!;
      const to = this.#rows[state + classOf[byte]!]!;
      state = to === UNKNOWN ? this.#step(state, byte) : to;
    }
    return state > UNKNOWN || state === TOO_MANY ? UNDECIDED : -1 - state;
  }

  #step(state: number, byte: number): number {
    const { open, passed } = this.#situations[state / this.#classes]!;
    const kind = this.#classOf[byte]!;
    const set = setOf(byte);
    const to = this.#stateOf({ open: open.map((places, at) => this.#programs[at]!.after(places, kind, set)), passed });
    this.#rows[state + kind] = to;
    return to;
  }

  #stateOf({ open, passed }: Situation): number {
    const ended = open.map((places, at) => this.#programs[at]!.mayEnd(places));
    const situation = this.#pairedOff({
      open: open.map((places, at) => (ended[at]! ? NOWHERE : places)),
      passed: ended.reduce((bits, isEnded, at) => (isEnded ? bits | (1 << at) : bits), passed),
    });
    if (situation.open.every((places) => places === NOWHERE))
      return -1 - (situation.passed & ((1 << this.#partners.length) - 1));
    const key = `${situation.passed}:${situation.open.join()}`;
    const known = this.#states.get(key);
    if (known !== undefined) return known;
    if (this.#states.size === STATES_MAX) return TOO_MANY;
    const number = 1 + this.#states.size;
    const state = number * this.#classes;
    if (state + this.#classes > this.#rows.length && !this.#enlarge()) return TOO_MANY;
    this.#states.set(key, state);
    this.#situations[number] = situation;
    return state;
  }

  /** Closes both of two that must match together once one of them cannot. */
  #pairedOff({ open, passed }: Situation): Situation {
    const failed = (at: number): boolean => open[at] === NOWHERE && (passed & (1 << at)) === 0;
    const without = this.#partners.flatMap((partner, at) =>
      partner !== 0 && (failed(at) || failed(partner)) ? [at, partner] : [],
    );
    if (without.length === 0) return { open, passed };
    return {
      open: open.map((places, at) => (without.includes(at) ? NOWHERE : places)),
      passed: without.reduce((bits, at) => bits & ~(1 << at), passed),
    };
  }

  #enlarge(): boolean {
    const larger = this.#allocate(this.#rows.length * 2);
    if (larger === null) return false;
    larger.set(this.#rows);
    this.#rows = larger;
    this.table[TABLE.rows] = larger.byteOffset;
    return true;
  }
}

/** By pattern: where a text may have led; nowhere once it is known whether it may match. */
interface Situation {
  open: readonly number[];
  /** Bits of the patterns that may match. */
  passed: number;
}

function afterLiteral(program: PlacesOf, literal: string): number {
  let places = program.first;
  for (const letter of literal) {
    const [lower, upper] = [letter, letter.toUpperCase()].map((each) => each.charCodeAt(0));
    places = program.afterAny(places, setOf(lower!, upper!));
  }
  return places;
}

/** Bytes that are in the same sets have one class. */
function classesOf(program: readonly Instruction[]): { classOf: Uint8Array; classes: number } {
  const sets = new Map(
    program.flatMap((step) => (step.op === 'bytes' || step.op === 'run' ? [[step.set.join(), step.set] as const] : [])),
  );
  const classOf = new Uint8Array(256);
  let classes = 1;
  for (const set of sets.values()) {
    // What a class becomes outside of the set and within it.
    const divided = new Int16Array(512).fill(-1);
    classes = 0;
    for (let byte = 0; byte < 256; byte++) {
      const part = classOf[byte]! * 2 + (hasByte(set, byte) ? 1 : 0);
      if (divided[part]! < 0) divided[part] = classes++;
      classOf[byte] = divided[part]!;
    }
  }
  return { classOf, classes };
}

function wordsFrom(allocate: AllocateWords, length: number): Int32Array {
  const words = allocate(length);
  if (words === null) throw new LookAheadMemoryUsedUp();
  return words;
}

/** Returns null for patterns that are too many or too large for it, and if there is no memory. */
export function lookAhead(patterns: readonly AheadPattern[], allocate?: AllocateWords): LookAhead | null {
  if (patterns.length === 0 || patterns.length + patterns.filter(({ and }) => and).length > PATTERNS_MAX) return null;
  try {
    return new LookAhead(patterns, allocate);
  } catch (error) {
    if (error instanceof ProgramTooLarge || error instanceof LookAheadMemoryUsedUp) return null;
    throw error;
  }
}
