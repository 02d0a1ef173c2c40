import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { compileFrom } from '../../../src/detect/compile-rules.ts';
import { builtinPlan, planBytes, readPlan } from '../../../src/detect/rules/builtin-plan.ts';
import { loadRules } from '../../../src/detect/rules/load-rules.ts';

test("the build's file restores the built-in rules as compiled", () => {
  const compiled = compileFrom(loadRules({ rules: [] }));
  const read = readPlan(planBytes(compiled));
  assert.deepEqual(read, compiled);
  assert.ok(read.automaton.next.buffer instanceof SharedArrayBuffer);
});

test('without the file, the rules are compiled', () => {
  assert.equal(builtinPlan(pathToFileURL('/nowhere/builtin.plan')), null);
});
