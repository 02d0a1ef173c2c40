import { type ByteSet, intersects } from './byte-set.ts';
import type { Instruction } from './program.ts';

/**
 * All places of a program that a text may have reached, in ascending order; assertions count as held, but for the end of
 * the text, where no byte leads on. A place is the number of an instruction that takes a byte, of that assertion or of the
 * final one, times `COUNTS`, plus the repetitions taken there.
 */
export type Places = readonly number[];

const COUNTS = 256;
/**
 * Repetitions of a longer run are counted only up to the least number, as if it were unbounded: otherwise each of
 * them would be a place of its own.
 */
const COUNTED_MAX = 8;

export function firstPlaces(program: readonly Instruction[]): Places {
  return reached(program, [0]);
}

/** Returns the places after one byte of a set. */
export function placesAfter(program: readonly Instruction[], places: Places, set: ByteSet): Places {
  const next: number[] = [];
  for (const place of places) {
    const at = Math.floor(place / COUNTS);
    const step = program[at]!;
    if (step.op === 'bytes' && intersects(step.set, set)) next.push((at + 1) * COUNTS);
    if (step.op === 'run' && intersects(step.set, set) && !isUsedUp(step, place % COUNTS))
      next.push(at * COUNTS + Math.min((place % COUNTS) + 1, countsOf(step)));
  }
  return reached(program, next);
}

type Run = Extract<Instruction, { op: 'run' }>;

function isUsedUp({ max }: Run, count: number): boolean {
  return max <= COUNTED_MAX && count >= max;
}

/** Returns the number from which repetitions are not distinguished. */
function countsOf({ min, max }: Run): number {
  return Math.min(max <= COUNTED_MAX ? max : min, COUNTS - 1);
}

/** Returns whether a match may end here. */
export function mayEnd(program: readonly Instruction[], places: Places): boolean {
  return places.at(-1) === (program.length - 1) * COUNTS;
}

/** Follows what takes no byte. */
function reached(program: readonly Instruction[], from: readonly number[]): Places {
  const open = [...from];
  const seen = new Set(open);
  const places: number[] = [];
  const enter = (place: number): void => {
    if (!seen.has(place)) open.push(place);
    seen.add(place);
  };
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const at = Math.floor(place / COUNTS);
    const step = program[at]!;
    const isEnd = step.op === 'assert' && step.kind === 'text_end';
    if (isEnd || step.op === 'match' || step.op === 'bytes' || step.op === 'run') places.push(place);
    if (isEnd) continue;
    if (step.op === 'split') [step.first, step.second].forEach((to) => enter(to * COUNTS));
    else if (step.op === 'jump') enter(step.to * COUNTS);
    else if (step.op === 'assert' || step.op === 'save') enter((at + 1) * COUNTS);
    else if (step.op === 'run' && place % COUNTS >= Math.min(step.min, COUNTS - 1)) enter((at + 1) * COUNTS);
  }
  return places.sort((a, b) => a - b);
}
