import { type AssertionKind, isWordCharacter } from '@heddle/base/regex/ast';
import { hasByte } from './byte-set.ts';
import type { Instruction } from './program.ts';

/**
 * Bounds of a match and its groups: `[start, end, start of group 1, end of group 1, ...]`; -1 if a group took no part.
 */
export type Spans = number[];

/**
 * Backtracking matcher with memoization: each pair of instruction and position is entered once, whatever the start, so
 * a search costs at most pattern x text. Prefers what a backtracking engine prefers (leftmost, then first).
 */
export class BoundedMatcher {
  readonly #program: readonly Instruction[];
  readonly #groups: number;
  #visited = new Uint32Array(0);
  #text = '';
  #steps = 0;
  /** Pending pairs of instruction and position, and slots to restore: `-1 - slot, old value`. */
  readonly #stack: number[] = [];

  constructor(program: readonly Instruction[], groups: number) {
    this.#program = program;
    this.#groups = groups;
  }

  /** Instructions executed by the last search, a measure of its cost. */
  get steps(): number {
    return this.#steps;
  }

  /** Returns the first match that begins in `[from, lastStart]`. */
  search(text: string, from: number, lastStart = text.length): Spans | null {
    this.#text = text;
    this.#steps = 0;
    const words = Math.ceil((this.#program.length * (text.length + 1)) / 32);
    if (this.#visited.length < words) this.#visited = new Uint32Array(words);
    else this.#visited.fill(0, 0, words);
    for (let start = from; start <= lastStart && start <= text.length; start++) {
      const spans = this.#matchAt(start);
      if (spans !== null) return spans;
    }
    return null;
  }

  #matchAt(start: number): Spans | null {
    const spans: Spans = new Array<number>(this.#groups * 2 + 2).fill(-1);
    const stack = this.#stack;
    stack.length = 0;
    stack.push(0, start);
    while (stack.length > 0) {
      const position = stack.pop()!;
      const instruction = stack.pop()!;
      if (instruction < 0) spans[-1 - instruction] = position;
      else if (this.#run(instruction, position, spans)) {
        spans[0] = start;
        return spans;
      }
    }
    return null;
  }

  /** Follows one thread to the end and pushes its alternatives onto the stack. */
  #run(instruction: number, position: number, spans: Spans): boolean {
    for (;;) {
      if (!this.#enter(instruction, position)) return false;
      const step = this.#program[instruction]!;
      switch (step.op) {
        case 'match':
          spans[1] = position;
          return true;
        case 'bytes':
          if (position >= this.#text.length || !hasByte(step.set, this.#text.charCodeAt(position))) return false;
          position++;
          break;
        case 'run': {
          const taken = this.#takeRun(step, instruction, position);
          if (taken < 0) return false;
          position += taken;
          break;
        }
        case 'assert':
          if (!this.#holds(step.kind, position)) return false;
          break;
        case 'split':
          this.#stack.push(step.second, position);
          instruction = step.first;
          continue;
        case 'jump':
          instruction = step.to;
          continue;
        case 'save':
          this.#stack.push(-1 - step.slot, spans[step.slot]!);
          spans[step.slot] = position;
      }
      instruction++;
    }
  }

  /** Returns false if this pair was entered before: everything that follows from it has failed already. */
  #enter(instruction: number, position: number): boolean {
    this.#steps++;
    const bit = instruction * (this.#text.length + 1) + position;
    const mask = 1 << (bit & 31);
    if ((this.#visited[bit >>> 5]! & mask) !== 0) return false;
    this.#visited[bit >>> 5] = this.#visited[bit >>> 5]! | mask;
    return true;
  }

  /** Returns the preferred length of a run and pushes the others, the best on top; -1 if it cannot begin. */
  #takeRun(run: Extract<Instruction, { op: 'run' }>, instruction: number, position: number): number {
    const limit = Math.min(run.max, this.#text.length - position);
    let length = 0;
    while (length < limit && hasByte(run.set, this.#text.charCodeAt(position + length))) length++;
    if (length < run.min) return -1;
    this.#steps += length - run.min;
    const next = instruction + 1;
    if (run.lazy) {
      for (let taken = length; taken > run.min; taken--) this.#stack.push(next, position + taken);
      return run.min;
    }
    for (let taken = run.min; taken < length; taken++) this.#stack.push(next, position + taken);
    return length;
  }

  #holds(kind: AssertionKind, position: number): boolean {
    const text = this.#text;
    switch (kind) {
      case 'text_start':
        return position === 0;
      case 'text_end':
        return position === text.length;
      case 'line_start':
        return position === 0 || text.charCodeAt(position - 1) === 0x0a;
      case 'line_end':
        return position === text.length || text.charCodeAt(position) === 0x0a;
      case 'word_boundary':
        return isBoundary(text, position);
      case 'no_word_boundary':
        return !isBoundary(text, position);
    }
  }
}

function isBoundary(text: string, position: number): boolean {
  const before = position > 0 && isWordCharacter(text.charCodeAt(position - 1));
  const after = position < text.length && isWordCharacter(text.charCodeAt(position));
  return before !== after;
}
