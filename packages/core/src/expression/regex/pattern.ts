import type { AssertionKind, RegexNode } from '@heddle/base/regex/ast';
import { regexParser, RegexSyntaxError } from '@heddle/base/regex/parse';
import { CHARACTERS, type CharacterTest } from './characters.ts';

const parsePattern = regexParser(CHARACTERS, { lengthMax: 1000, repeatMax: 1000, nestingMax: 50 });

/** Instruction of a pattern's program. */
export type Instruction =
  | { do: 'take'; test: CharacterTest }
  | { do: 'assert'; kind: AssertionKind }
  | { do: 'split'; first: number; second: number }
  | { do: 'match' };

/** Pattern matched by following all alternatives at once, so that its time is linear in the text. */
export interface Pattern {
  program: readonly Instruction[];
}

type PatternNode = RegexNode<CharacterTest>;

/** Maximum instructions of a pattern with its repetitions expanded. */
const PROGRAM_MAX = 2000;

/** @throws Error naming the part of the pattern that is not allowed */
export function compilePattern(source: string): Pattern {
  const program: Instruction[] = [];
  emit(parsed(source), program);
  add(program, { do: 'match' });
  return { program };
}

function parsed(source: string): PatternNode {
  try {
    return parsePattern(source).node;
  } catch (error) {
    if (!(error instanceof RegexSyntaxError)) throw error;
    const { message, position } = error;
    throw new Error(
      `the pattern ${JSON.stringify(source.slice(0, 60))} is not valid: ${message} (at ${position + 1})`,
      { cause: error },
    );
  }
}

function add(program: Instruction[], instruction: Instruction): number {
  if (program.length >= PROGRAM_MAX) throw new Error('the pattern is too large once its repetitions are expanded');
  return program.push(instruction) - 1;
}

function emit(node: PatternNode, program: Instruction[]): void {
  switch (node.type) {
    case 'empty':
      return;
    case 'set':
      add(program, { do: 'take', test: node.set });
      return;
    case 'assertion':
      add(program, { do: 'assert', kind: node.kind });
      return;
    case 'sequence':
      for (const part of node.parts) emit(part, program);
      return;
    case 'choice':
      emitChoice(node.branches, program);
      return;
    case 'capture':
      emit(node.node, program);
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
