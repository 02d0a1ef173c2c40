import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { compileFrom } from '../../../src/detect/compile-rules.ts';
import { bytesOfRules, rulePlanAt } from '../../../src/detect/packed-rules.ts';
import { builtinPlan } from '../../../src/detect/rules/builtin-plan.ts';
import { compileRule } from '../../../src/detect/rules/compile-rule.ts';
import { keptPlan } from '../../../src/detect/rules/kept-plan.ts';
import { loadRules } from '../../../src/detect/rules/load-rules.ts';

test("the build's file restores the built-in rules as compiled, in memory that threads share", () => {
  const set = loadRules({ rules: [] });
  const compiled = compileFrom(set);
  const directory = mkdtempSync(join(tmpdir(), 'heddle-builtin-plan-'));
  try {
    const file = join(directory, 'builtin.plan');
    writeFileSync(file, bytesOfRules(compiled));
    const read = builtinPlan(pathToFileURL(file))!;
    assert.deepEqual(read, compiled);
    assert.ok(read.automaton.next.buffer instanceof SharedArrayBuffer);
    truncateSync(file, statSync(file).size - 1);
    assert.throws(() => builtinPlan(pathToFileURL(file)), /another length/);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('each rule is stored for itself, with an outline of all', () => {
  const set = loadRules({ rules: [] });
  const compiled = compileFrom(set);
  const plans = set.rules.filter(({ regex }) => regex !== undefined).map(compileRule);
  const { outline } = compiled;
  assert.equal(outline.count, plans.length);
  for (const [number, plan] of plans.entries()) assert.deepEqual(rulePlanAt(compiled, number), plan);
  assert.equal(outline.before, Math.max(...plans.map(({ before }) => before)));
  assert.equal(outline.after, Math.max(...plans.map(({ after }) => after)));
  assert.deepEqual(outline.everywhere, []);
  assert.ok(outline.has_unguarded);
});

test('without the file, the rules are compiled', () => {
  assert.equal(builtinPlan(pathToFileURL('/nowhere/builtin.plan')), null);
});

test('compiled rules are kept for the next start; what is damaged or cannot be kept is compiled again', () => {
  const directory = mkdtempSync(join(tmpdir(), 'heddle-kept-plan-'));
  try {
    let compilations = 0;
    const compile = () => {
      compilations += 1;
      return compileFrom(loadRules({ rules: [] }));
    };
    const first = keptPlan(compile, directory);
    assert.deepEqual(keptPlan(compile, directory), first);
    assert.equal(compilations, 1);
    const [name] = readdirSync(directory);
    writeFileSync(join(directory, name!), 'damaged');
    for (let i = 0; i < 8; i += 1) writeFileSync(join(directory, `rules-${i}.plan`), '');
    assert.deepEqual(keptPlan(compile, directory), first);
    assert.equal(compilations, 2);
    assert.equal(readdirSync(directory).length, 4);
    assert.deepEqual(keptPlan(compile, join(directory, name!, 'none')), first);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
