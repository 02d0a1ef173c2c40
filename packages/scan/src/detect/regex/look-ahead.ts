import type { RegexNode } from './ast.ts';
import { hasByte, setOf } from './byte-set.ts';
import { firstPlaces, mayEnd, type Places, placesAfter } from './places.ts';
import { compileProgram, type Instruction, ProgramTooLarge } from './program.ts';

/** A pattern that begins with a literal: lower case, as latin1; it matches in any case. */
export interface AheadPattern {
  node: RegexNode;
  literal: string;
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
const TABLE = { rows: 0, rowBytes: 1, start: 2, leftOut: 3, classOf: 4 };
const TABLE_WORDS = TABLE.classOf + 256 / 4;

/** There is no memory for another look-ahead. */
class LookAheadMemoryUsedUp extends Error {}

/**
 * Looks which of a few patterns may match at a place where all their literals end: reads bytes, each once, until that is
 * known. It leaves out no match; of assertions it knows nothing, and takes them to hold.
 *
 * A deterministic automaton, whose states are made when a text first leads to them. A final state is negative: -1 minus
 * the bits of the patterns that may match. The automaton of keywords follows it, too, as `table` describes it.
 */
export class LookAhead {
  readonly #programs: readonly (readonly Instruction[])[];
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
    if (patterns.length > PATTERNS_MAX) throw new RangeError(`look ahead: at most ${PATTERNS_MAX} patterns`);
    this.#programs = patterns.map(({ node }) => compileProgram(node));
    ({ classOf: this.#classOf, classes: this.#classes } = classesOf(this.#programs.flat()));
    this.#allocate = allocate;
    this.table = wordsFrom(allocate, TABLE_WORDS);
    new Uint8Array(this.table.buffer, this.table.byteOffset + 4 * TABLE.classOf, 256).set(this.#classOf);
    this.#rows = wordsFrom(allocate, STATES_FIRST * this.#classes);
    this.table[TABLE.rows] = this.#rows.byteOffset;
    this.table[TABLE.rowBytes] = 4 * this.#classes;
    const open = patterns.map(({ literal }, at) => afterLiteral(this.#programs[at]!, literal));
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
    const classes = this.#classes;
    const stop = Math.min(end, at + REACH);
    let state = known < UNKNOWN ? known : this.#start;
    for (let next = at; state > UNKNOWN && next < stop; next++) {
      const byte = bytes[next]!;
      const to = this.#rows[state * classes + classOf[byte]!]!;
      state = to === UNKNOWN ? this.#step(state, byte) : to;
    }
    return state > UNKNOWN || state === TOO_MANY ? UNDECIDED : -1 - state;
  }

  #step(state: number, byte: number): number {
    const { open, passed } = this.#situations[state]!;
    const set = setOf(byte);
    const to = this.#stateOf({ open: open.map((places, at) => placesAfter(this.#programs[at]!, places, set)), passed });
    this.#rows[state * this.#classes + this.#classOf[byte]!] = to;
    return to;
  }

  #stateOf({ open, passed }: Situation): number {
    const ended = open.map((places, at) => mayEnd(this.#programs[at]!, places));
    const situation: Situation = {
      open: open.map((places, at) => (ended[at]! ? [] : places)),
      passed: ended.reduce((bits, isEnded, at) => (isEnded ? bits | (1 << at) : bits), passed),
    };
    if (situation.open.every((places) => places.length === 0)) return -1 - situation.passed;
    const key = `${situation.passed}:${situation.open.join(';')}`;
    const known = this.#states.get(key);
    if (known !== undefined) return known;
    if (this.#states.size === STATES_MAX) return TOO_MANY;
    const state = 1 + this.#states.size;
    if ((state + 1) * this.#classes > this.#rows.length && !this.#enlarge()) return TOO_MANY;
    this.#states.set(key, state);
    this.#situations[state] = situation;
    return state;
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

/** By pattern: where a text may have led; empty once it is known whether it may match. */
interface Situation {
  open: readonly Places[];
  /** Bits of the patterns that may match. */
  passed: number;
}

function afterLiteral(program: readonly Instruction[], literal: string): Places {
  let places = firstPlaces(program);
  for (const letter of literal) {
    const [lower, upper] = [letter, letter.toUpperCase()].map((each) => each.charCodeAt(0));
    places = placesAfter(program, places, setOf(lower!, upper!));
  }
  return places;
}

/** Bytes that are in the same sets have one class. */
function classesOf(program: readonly Instruction[]): { classOf: Uint8Array; classes: number } {
  const classOf = new Uint8Array(256);
  let classes = 1;
  for (const step of program) {
    if (step.op !== 'bytes' && step.op !== 'run') continue;
    const numbers = new Map<number, number>();
    for (let byte = 0; byte < 256; byte++) {
      const divided = classOf[byte]! * 2 + (hasByte(step.set, byte) ? 1 : 0);
      let number = numbers.get(divided);
      if (number === undefined) numbers.set(divided, (number = numbers.size));
      classOf[byte] = number;
    }
    classes = numbers.size;
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
  if (patterns.length === 0 || patterns.length > PATTERNS_MAX) return null;
  try {
    return new LookAhead(patterns, allocate);
  } catch (error) {
    if (error instanceof ProgramTooLarge || error instanceof LookAheadMemoryUsedUp) return null;
    throw error;
  }
}
