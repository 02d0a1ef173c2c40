import type { CharacterTest } from './classes.ts';
import { parsePattern } from './parse.ts';
import type { Assertion, PatternNode } from './parse.ts';

/** Instruction of a pattern's program. */
export type Instruction =
  | { do: 'take'; test: CharacterTest }
  | { do: 'assert'; kind: Assertion }
  | { do: 'split'; first: number; second: number }
  | { do: 'match' };

/** Pattern matched by following all alternatives at once, so that its time is linear in the text. */
export interface Pattern {
  program: readonly Instruction[];
}

/** Maximum instructions of a pattern with its repetitions expanded. */
const PROGRAM_MAX = 2000;

/** @throws Error naming the part of the pattern that is not allowed */
export function compilePattern(source: string): Pattern {
  const program: Instruction[] = [];
  emit(parsePattern(source), program);
  add(program, { do: 'match' });
  return { program };
}

function add(program: Instruction[], instruction: Instruction): number {
  if (program.length >= PROGRAM_MAX) throw new Error('the pattern is too large once its repetitions are expanded');
  return program.push(instruction) - 1;
}

function emit(node: PatternNode, program: Instruction[]): void {
  switch (node.type) {
    case 'empty':
      return;
    case 'character':
      add(program, { do: 'take', test: node.test });
      return;
    case 'assertion':
      add(program, { do: 'assert', kind: node.kind });
      return;
    case 'sequence':
      for (const part of node.nodes) emit(part, program);
      return;
    case 'choice':
      emitChoice(node.nodes, program);
      return;
    case 'repeat':
      emitRepeat(node.node, node.min, node.max, program);
      return;
  }
}

function emitChoice(nodes: readonly PatternNode[], program: Instruction[]): void {
  const ends: number[] = [];
  for (const [index, part] of nodes.entries()) {
    const split = index < nodes.length - 1 ? add(program, { do: 'split', first: 0, second: 0 }) : null;
    emit(part, program);
    if (split === null) continue;
    ends.push(add(program, { do: 'split', first: 0, second: 0 }));
    program[split] = { do: 'split', first: split + 1, second: program.length };
  }
  for (const end of ends) program[end] = { do: 'split', first: program.length, second: program.length };
}

function emitRepeat(node: PatternNode, min: number, max: number, program: Instruction[]): void {
  for (let times = 0; times < min; times += 1) emitOnce(node, program);
  if (max === Infinity) {
    const split = add(program, { do: 'split', first: 0, second: 0 });
    emitOnce(node, program);
    add(program, { do: 'split', first: split, second: split });
    program[split] = { do: 'split', first: split + 1, second: program.length };
    return;
  }
  const splits: number[] = [];
  for (let times = min; times < max; times += 1) {
    splits.push(add(program, { do: 'split', first: 0, second: 0 }));
    emitOnce(node, program);
  }
  for (const split of splits) program[split] = { do: 'split', first: split + 1, second: program.length };
}

/** Counts even what emits no instruction, so that repetitions of nothing end as well. */
function emitOnce(node: PatternNode, program: Instruction[]): void {
  const before = program.length;
  emit(node, program);
  if (program.length === before) add(program, { do: 'split', first: before + 1, second: before + 1 });
}
