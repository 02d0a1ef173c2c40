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

/** Bytes that are read at most. */
const REACH = 64;
/** Each has a row of one number for each class of bytes, usually some 100 bytes. */
const STATES_MAX = 1024;
/** What a row says of a byte that has not occurred there, and of one that would need a state too many. */
const UNKNOWN = 0;
const TOO_MANY = -0x8000_0000;

/**
 * Looks which of a few patterns may match at a place where all their literals end: reads bytes, each once, until that is
 * known. It leaves out no match; of assertions it knows nothing, and takes them to hold.
 *
 * A deterministic automaton, whose states are made when a text first leads to them. A final state is negative: -1 minus
 * the bits of the patterns that may match.
 */
export class LookAhead {
  readonly #programs: readonly (readonly Instruction[])[];
  readonly #states = new Map<string, number>();
  readonly #situations: Situation[] = [];
  readonly #start: number;
  /** Bytes that no pattern distinguishes have one class. */
  readonly #classOf: Uint8Array;
  readonly #classes: number;
  #rows: Int32Array;

  /** Throws ProgramTooLarge. */
  constructor(patterns: readonly AheadPattern[]) {
    if (patterns.length > PATTERNS_MAX) throw new RangeError(`look ahead: at most ${PATTERNS_MAX} patterns`);
    this.#programs = patterns.map(({ node }) => compileProgram(node));
    ({ classOf: this.#classOf, classes: this.#classes } = classesOf(this.#programs.flat()));
    this.#rows = new Int32Array(16 * this.#classes);
    const open = patterns.map(({ literal }, at) => afterLiteral(this.#programs[at]!, literal));
    this.#start = this.#stateOf({ open, passed: 0 });
  }

  /** Returns the bits of the patterns that may match, or `UNDECIDED`; reads `bytes` from `at` to before `end`. */
  outlook(bytes: Uint8Array, at: number, end: number): number {
    const classOf = this.#classOf;
    const classes = this.#classes;
    const stop = Math.min(end, at + REACH);
    let state = this.#start;
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
    this.#states.set(key, state);
    this.#situations[state] = situation;
    if ((state + 1) * this.#classes > this.#rows.length) {
      const larger = new Int32Array(this.#rows.length * 2);
      larger.set(this.#rows);
      this.#rows = larger;
    }
    return state;
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

function classesOf(program: readonly Instruction[]): { classOf: Uint8Array; classes: number } {
  const sets = program.flatMap((step) => (step.op === 'bytes' || step.op === 'run' ? [step.set] : []));
  const numbers = new Map<string, number>();
  const classOf = Uint8Array.from({ length: 256 }, (_, byte) => {
    const members = sets.map((set) => (hasByte(set, byte) ? '1' : '0')).join('');
    const number = numbers.get(members) ?? numbers.size;
    numbers.set(members, number);
    return number;
  });
  return { classOf, classes: numbers.size };
}

/** Returns null for patterns that are too many or too large for it. */
export function lookAhead(patterns: readonly AheadPattern[]): LookAhead | null {
  if (patterns.length === 0 || patterns.length > PATTERNS_MAX) return null;
  try {
    return new LookAhead(patterns);
  } catch (error) {
    if (error instanceof ProgramTooLarge) return null;
    throw error;
  }
}
