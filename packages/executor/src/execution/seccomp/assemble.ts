/** One classic BPF instruction for the kernel's seccomp. Jump fields count the instructions to skip. */
export interface Instruction {
  readonly code: number;
  readonly ifTrue: number;
  readonly ifFalse: number;
  readonly operand: number;
}

const LOAD_WORD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_ANY_BIT = 0x45;
const AND = 0x54;
const RETURN = 0x06;

/** Size of `struct sock_filter`, bytes. */
const INSTRUCTION_BYTES = 8;
/** Offsets in `struct seccomp_data`. */
const NUMBER_OFFSET = 0;
const ARCHITECTURE_OFFSET = 4;
const ARGUMENTS_OFFSET = 16;

const jump = (code: number, operand: number, ifTrue: number, ifFalse: number): Instruction => ({
  code,
  ifTrue,
  ifFalse,
  operand: operand >>> 0,
});
const plain = (code: number, operand: number): Instruction => jump(code, operand, 0, 0);

export const loadNumber = (): Instruction => plain(LOAD_WORD, NUMBER_OFFSET);
export const loadArchitecture = (): Instruction => plain(LOAD_WORD, ARCHITECTURE_OFFSET);
/** Loads the lower half of a call argument; both supported machines are little-endian. */
export const loadArgument = (index: number): Instruction => plain(LOAD_WORD, ARGUMENTS_OFFSET + 8 * index);
export const and = (mask: number): Instruction => plain(AND, mask);
export const returnAction = (action: number): Instruction => plain(RETURN, action);

/** Runs the given instructions only if the value matches; otherwise skips them. */
export const ifEqual = (value: number, then: readonly Instruction[]): readonly Instruction[] => [
  jump(JUMP_EQUAL, value, 0, then.length),
  ...then,
];
export const ifNotEqual = (value: number, then: readonly Instruction[]): readonly Instruction[] => [
  jump(JUMP_EQUAL, value, then.length, 0),
  ...then,
];
export const ifAtLeast = (value: number, then: readonly Instruction[]): readonly Instruction[] => [
  jump(JUMP_AT_LEAST, value, 0, then.length),
  ...then,
];
export const ifAnyBit = (mask: number, then: readonly Instruction[]): readonly Instruction[] => [
  jump(JUMP_ANY_BIT, mask, 0, then.length),
  ...then,
];
export const ifNoBit = (mask: number, then: readonly Instruction[]): readonly Instruction[] => [
  jump(JUMP_ANY_BIT, mask, then.length, 0),
  ...then,
];

/** Encodes a program. @throws RangeError if a jump is too far */
export function assemble(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * INSTRUCTION_BYTES);
  program.forEach(({ code, ifTrue, ifFalse, operand }, index) => {
    const at = index * INSTRUCTION_BYTES;
    bytes.writeUInt16LE(code, at);
    bytes.writeUInt8(ifTrue, at + 2);
    bytes.writeUInt8(ifFalse, at + 3);
    bytes.writeUInt32LE(operand, at + 4);
  });
  return bytes;
}
