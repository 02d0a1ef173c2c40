import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { Instruction } from '../../../src/execution/seccomp/assemble.ts';
import { DENIED_CALLS } from '../../../src/execution/seccomp/calls.ts';
import { instructionsFor, type Machine, seccompProgram } from '../../../src/execution/seccomp/program.ts';

const ALLOW = 0x7fff_0000;
const KILL = 0x8000_0000;
const refused = (error: number): number => 0x0005_0000 | error;
const ARCHITECTURE: Readonly<Record<Machine, number>> = { x64: 0xc000_003e, arm64: 0xc000_00b7 };

/** Interprets a program like the kernel. @returns its action */
function decide(program: readonly Instruction[], architecture: number, call: number, args: readonly number[]): number {
  let accumulator = 0;
  for (let at = 0; ; at += 1) {
    const { code, operand, ifTrue, ifFalse } = program[at]!;
    if (code === 0x20) {
      if (operand === 0) accumulator = call;
      else if (operand === 4) accumulator = architecture;
      else accumulator = args[(operand - 16) / 8] ?? 0;
    } else if (code === 0x54) accumulator = (accumulator & operand) >>> 0;
    else if (code === 0x06) return operand;
    else {
      const holds = {
        0x15: accumulator === operand,
        0x35: accumulator >= operand,
        0x45: (accumulator & operand) !== 0,
      };
      at += holds[code as keyof typeof holds] ? ifTrue : ifFalse;
    }
  }
}

for (const machine of ['x64', 'arm64'] as const) {
  describe(`the filter for ${machine}`, () => {
    const program = instructionsFor(machine);
    const ask = (call: number, ...args: number[]): number => decide(program, ARCHITECTURE[machine], call, args);
    const pick = (x64: number, arm64: number): number => (machine === 'x64' ? x64 : arm64);

    test('denies every listed call', () => {
      for (const [name, numbers] of Object.entries(DENIED_CALLS)) {
        const call = numbers[machine];
        if (call !== null) assert.equal(ask(call), refused(1), name);
      }
    });

    test('allows threads, but neither processes nor namespaces', () => {
      const clone = pick(56, 220);
      assert.equal(ask(clone, 0x003d_0f00), ALLOW);
      assert.equal(ask(clone, 17), refused(1));
      for (const flag of [0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000]) {
        assert.equal(ask(clone, 0x003d_0f00 + flag), refused(1), flag.toString(16));
      }
      assert.equal(ask(435), refused(38));
    });

    test('allows the calls that Node needs', () => {
      for (const call of machine === 'x64'
        ? [0, 1, 3, 9, 10, 11, 202, 230, 233, 290]
        : [63, 64, 57, 222, 226, 215, 98, 115]) {
        assert.equal(ask(call), ALLOW, String(call));
      }
    });

    test('kills on calls of another architecture, and rejects newer ones as unknown', () => {
      assert.equal(decide(program, 0x4000_0003, 1, []), KILL);
      assert.equal(ask(470), refused(38));
      if (machine === 'x64') assert.equal(ask(0x4000_0000 + 101), KILL);
    });

    test("fits into the kernel's limit", () => {
      const bytes = seccompProgram(machine);
      assert.equal(bytes?.length, program.length * 8);
      assert.ok(program.length < 4_096);
    });
  });
}

test('other machines have no filter', () => {
  assert.equal(seccompProgram('riscv64'), null);
});
