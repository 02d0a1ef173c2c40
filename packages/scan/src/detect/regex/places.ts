import { type ByteSet, intersects } from './byte-set.ts';
import type { Instruction } from './program.ts';

/**
 * All places of a program that a text may have reached, in ascending order; assertions count as held, but for the end of
 * the text, where no byte leads on. A place is the number of an instruction that takes a byte, of that assertion or of the
 * final one, times `COUNTS`, plus the repetitions taken there.
 */
type Places = readonly number[];

const COUNTS = 256;
/**
 * Repetitions of a longer run are counted only up to the least number, as if it were unbounded: otherwise each of
 * them would be a place of its own.
 */
const COUNTED_MAX = 8;

/** No place: the program cannot match. */
export const NOWHERE = 0;

/** Follows one program through texts; what they may have reached has a number. */
export class PlacesOf {
  readonly #program: readonly Instruction[];
  readonly #places: Places[] = [[]];
  readonly #numbers = new Map([['', NOWHERE]]);
  /** By number and class of the byte, as far as used. */
  readonly #next = new Map<number, number>();
  /** By instruction, as far as used: what is reached from it without a byte. */
  readonly #reached: Places[] = [];

  constructor(program: readonly Instruction[]) {
    this.#program = program;
  }

  get first(): number {
    return this.#numberOf(this.#from(0));
  }

  /** Returns what is reached after one byte of a set that the program does not divide; `kind`, below 256, stands for it. */
  after(number: number, kind: number, set: ByteSet): number {
    if (number === NOWHERE) return NOWHERE;
    const step = number * 256 + kind;
    let next = this.#next.get(step);
    if (next === undefined) this.#next.set(step, (next = this.afterAny(number, set)));
    return next;
  }

  /** Returns what is reached after any byte of a set. */
  afterAny(number: number, set: ByteSet): number {
    const next: number[] = [];
    for (const place of this.#places[number]!) {
      const at = Math.floor(place / COUNTS);
      const step = this.#program[at]!;
      if ((step.op !== 'bytes' && step.op !== 'run') || !intersects(step.set, set)) continue;
      const count = place % COUNTS;
      if (step.op === 'bytes') next.push(...this.#from(at + 1));
      else if (!isUsedUp(step, count)) {
        const taken = Math.min(count + 1, countsOf(step));
        next.push(at * COUNTS + taken);
        if (maySuffice(step, taken)) next.push(...this.#from(at + 1));
      }
    }
    return this.#numberOf(inOrder(next));
  }

  /** Returns whether a match may end here. */
  mayEnd(number: number): boolean {
    return this.#places[number]!.at(-1) === (this.#program.length - 1) * COUNTS;
  }

  #from(at: number): Places {
    return (this.#reached[at] ??= reached(this.#program, at));
  }

  #numberOf(places: Places): number {
    const key = places.join();
    let number = this.#numbers.get(key);
    if (number === undefined) this.#numbers.set(key, (number = this.#places.push(places) - 1));
    return number;
  }
}

type Run = Extract<Instruction, { op: 'run' }>;

function isUsedUp({ max }: Run, count: number): boolean {
  return max <= COUNTED_MAX && count >= max;
}

/** Returns the number from which repetitions are not distinguished. */
function countsOf({ min, max }: Run): number {
  return Math.min(max <= COUNTED_MAX ? max : min, COUNTS - 1);
}

function maySuffice({ min }: Run, count: number): boolean {
  return count >= Math.min(min, COUNTS - 1);
}

/** Follows what takes no byte. */
function reached(program: readonly Instruction[], from: number): Places {
  const open = [from];
  const seen = new Set(open);
  const places: number[] = [];
  const enter = (at: number): void => {
    if (!seen.has(at)) open.push(at);
    seen.add(at);
  };
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const step = program[at]!;
    const isEnd = step.op === 'assert' && step.kind === 'text_end';
    if (isEnd || step.op === 'match' || step.op === 'bytes' || step.op === 'run') places.push(at * COUNTS);
    if (isEnd) continue;
    if (step.op === 'split') [step.first, step.second].forEach(enter);
    else if (step.op === 'jump') enter(step.to);
    else if (step.op === 'assert' || step.op === 'save') enter(at + 1);
    else if (step.op === 'run' && maySuffice(step, 0)) enter(at + 1);
  }
  return inOrder(places);
}

function inOrder(places: number[]): Places {
  if (places.length < 2) return places;
  places.sort((a, b) => a - b);
  return places.filter((place, at) => place !== places[at - 1]);
}
