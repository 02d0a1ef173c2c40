import { type AssertionKind, isWordCharacter } from '@heddle/base/regex/ast';
import type { Pattern } from './pattern.ts';

/** Characters between two reports of the work done. */
const REPORT_EVERY_CHARS = 256;

/** Alternatives followed at one position of the string, each at most once. */
class Threads {
  readonly list: Uint32Array;
  readonly #seenAt: Int32Array;
  count = 0;

  constructor(size: number) {
    this.list = new Uint32Array(size);
    this.#seenAt = new Int32Array(size).fill(-1);
  }

  /** Returns whether this one is new at this position. */
  enter(instruction: number, place: number): boolean {
    if (this.#seenAt[instruction] === place) return false;
    this.#seenAt[instruction] = place;
    return true;
  }
}

/**
 * Returns whether the pattern matches anywhere in the text, in at most text length x program length steps.
 * @param spend receives the steps taken since the last call; throws to end the match.
 */
export function runPattern(pattern: Pattern, text: string, spend: (steps: number) => void): boolean {
  const { program } = pattern;
  let current = new Threads(program.length);
  let next = new Threads(program.length);
  const pending: number[] = [];
  let steps = 0;

  /**
   * Follows everything reachable from an instruction without consuming a character; true if the pattern has matched.
   */
  const follow = (threads: Threads, start: number, at: number): boolean => {
    pending.push(start);
    for (let index = pending.pop(); index !== undefined; index = pending.pop()) {
      steps += 1;
      if (!threads.enter(index, at)) continue;
      const instruction = program[index]!;
      if (instruction.do === 'match') return true;
      if (instruction.do === 'take') threads.list[threads.count++] = index;
      else if (instruction.do === 'split') pending.push(instruction.second, instruction.first);
      else if (holds(instruction.kind, text, at)) pending.push(index + 1);
    }
    return false;
  };

  for (let at = 0, sinceReport = 0; ; sinceReport += 1) {
    if (follow(current, 0, at)) return true;
    if (sinceReport % REPORT_EVERY_CHARS === 0 || at >= text.length) {
      spend(steps);
      steps = 0;
    }
    if (at >= text.length) return false;
    const code = text.codePointAt(at)!;
    const after = at + (code > 0xffff ? 2 : 1);
    for (let thread = 0; thread < current.count; thread += 1) {
      const index = current.list[thread]!;
      const instruction = program[index]!;
      steps += 1;
      if (instruction.do === 'take' && instruction.test(code) && follow(next, index + 1, after)) return true;
    }
    current.count = 0;
    [current, next] = [next, current];
    at = after;
  }
}

function holds(kind: AssertionKind, text: string, at: number): boolean {
  switch (kind) {
    case 'text_start':
      return at === 0;
    case 'text_end':
      return at === text.length;
    case 'line_start':
      return at === 0 || text.charCodeAt(at - 1) === 10;
    case 'line_end':
      return at === text.length || text.charCodeAt(at) === 10;
    case 'word_boundary':
      return isWordBoundary(text, at);
    case 'no_word_boundary':
      return !isWordBoundary(text, at);
  }
}

function isWordBoundary(text: string, at: number): boolean {
  const before = at > 0 && isWordCharacter(text.charCodeAt(at - 1));
  const behind = at < text.length && isWordCharacter(text.charCodeAt(at));
  return before !== behind;
}
