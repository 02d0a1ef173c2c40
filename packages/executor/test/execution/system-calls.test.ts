import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';

import type { ExecutionTier } from '../../src/execution/port.ts';
import { SYSTEM_CALLS } from '../support/execution/attack-table.ts';
import { AttackCode, run, tryTier } from '../support/execution/fixture.ts';

const missing = process.arch === 'x64' ? null : 'the test programs are x86-64 machine code';
const jail = missing ?? (await tryTier('jail'));

if (typeof jail === 'string') {
  test('system calls in the jail', (t) => t.skip(`NOT RUN, the jail is not available here: ${jail}`));
} else {
  const code = await AttackCode.make();
  after(async () => {
    await jail.close();
    await code[Symbol.asyncDispose]();
  });
  describe('system calls in the jail', () => callAll(jail, code));
}

function callAll(tier: ExecutionTier, code: AttackCode): void {
  for (const { name, call, parameters, error } of SYSTEM_CALLS) {
    test(name, async () => {
      const outcome = await run(tier, code.module('kernel'), 'kernel.call', { args: { call, parameters } });
      assert.ok(outcome.status === 'error');
      assert.equal(outcome.message, `the process ended without an answer: exit code ${error}`);
    });
  }
}
