import type { AssertionKind } from '@heddle/base/regex/ast';
import type { RegexNode } from './ast.ts';
import type { ByteSet } from './byte-set.ts';
import { spanOf } from './analyse.ts';

export type Instruction =
  | { op: 'bytes'; set: ByteSet }
  /** One set, from `min` to `max` times. */
  | { op: 'run'; set: ByteSet; min: number; max: number; lazy: boolean }
  | { op: 'assert'; kind: AssertionKind }
  /** Tries `first`, then `second`. */
  | { op: 'split'; first: number; second: number }
  | { op: 'jump'; to: number }
  | { op: 'save'; slot: number }
  | { op: 'match' };

/** More than any sensible rule needs: counted groups are expanded, so nested counts multiply. */
const INSTRUCTIONS_MAX = 20_000;

/** A pattern that would need too many instructions. */
export class ProgramTooLarge extends Error {
  constructor() {
    super(`written out, its counted repetitions need more than ${INSTRUCTIONS_MAX} instructions`);
    this.name = 'ProgramTooLarge';
  }
}

/** Compiles a pattern for the bounded matcher; counted repetitions of groups are expanded. */
export function compileProgram(node: RegexNode): Instruction[] {
  const program: Instruction[] = [];
  emit(program, node);
  program.push({ op: 'match' });
  return program;
}

function push(program: Instruction[], instruction: Instruction): number {
  if (program.length >= INSTRUCTIONS_MAX) throw new ProgramTooLarge();
  return program.push(instruction) - 1;
}

function emit(program: Instruction[], node: RegexNode): void {
  switch (node.type) {
    case 'empty':
      return;
    case 'set':
      push(program, { op: 'bytes', set: node.set });
      return;
    case 'assertion':
      push(program, { op: 'assert', kind: node.kind });
      return;
    case 'sequence':
      for (const part of node.parts) emit(program, part);
      return;
    case 'capture':
      push(program, { op: 'save', slot: node.group * 2 });
      emit(program, node.node);
      push(program, { op: 'save', slot: node.group * 2 + 1 });
      return;
    case 'choice':
      emitChoice(program, node.branches);
      return;
    case 'repeat':
      emitRepeat(program, node);
  }
}

function emitChoice(program: Instruction[], branches: readonly RegexNode[]): void {
  const jumps: number[] = [];
  branches.forEach((branch, at) => {
    if (at === branches.length - 1) {
      emit(program, branch);
      return;
    }
    const split = push(program, { op: 'jump', to: -1 });
    emit(program, branch);
    jumps.push(push(program, { op: 'jump', to: -1 }));
    program[split] = { op: 'split', first: split + 1, second: program.length };
  });
  for (const jump of jumps) program[jump] = { op: 'jump', to: program.length };
}

type Repeat = Extract<RegexNode, { type: 'repeat' }>;

function emitRepeat(program: Instruction[], { node, min, max, lazy }: Repeat): void {
  if (node.type === 'set') {
    push(program, { op: 'run', set: node.set, min, max, lazy });
    return;
  }
  // After one iteration, what consumes nothing never consumes more.
  const empty = spanOf(node).max === 0;
  const least = empty ? Math.min(min, 1) : min;
  const most = empty ? Math.min(max, 1) : max;
  for (let round = 0; round < least; round++) emit(program, node);
  if (most === Infinity) emitLoop(program, node, lazy);
  else emitOptional(program, node, most - least, lazy);
}

function emitLoop(program: Instruction[], node: RegexNode, lazy: boolean): void {
  const split = push(program, { op: 'jump', to: -1 });
  emit(program, node);
  push(program, { op: 'jump', to: split });
  program[split] = splitOf(split + 1, program.length, lazy);
}

function emitOptional(program: Instruction[], node: RegexNode, rounds: number, lazy: boolean): void {
  const splits: number[] = [];
  for (let round = 0; round < rounds; round++) {
    splits.push(push(program, { op: 'jump', to: -1 }));
    emit(program, node);
  }
  for (const split of splits) program[split] = splitOf(split + 1, program.length, lazy);
}

function splitOf(inside: number, after: number, lazy: boolean): Instruction {
  return lazy ? { op: 'split', first: after, second: inside } : { op: 'split', first: inside, second: after };
}
