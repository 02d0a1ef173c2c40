import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { parseWorkflow } from '../../src/domain/parse/workflow.ts';
import { placeOf } from '@heddle/base/parse/path';
import { planFlow } from '../../src/engine/flow/plan.ts';
import { compileExpression } from '../../src/expression/compile.ts';
import { newId } from '@heddle/base/random';

const PAGE = readFileSync(join(import.meta.dirname, '../../../../docs/core/expressions.md'), 'utf8');
const [workflow, result] = [...PAGE.matchAll(/```json\n([^]*?)```/g)].map((match) => JSON.parse(match[1]!) as unknown);

test('each expression of the page has the value that the page says', () => {
  const section = PAGE.slice(PAGE.indexOf('| expression | value |'));
  const rows = [...section.slice(0, section.indexOf('\n\n')).matchAll(/^\| `(.+)` \| `(.+)` \|$/gm)];
  assert.ok(rows.length > 25, 'the table was not found');
  const variables = { nodes: { scan: { state: 'Succeeded', result } }, now: new Date('2026-06-01T00:00:00Z') };
  for (const [, text, expected] of rows) {
    const compiled = compileExpression(text!);
    if (!compiled.ok) throw compiled.fault;
    assert.deepEqual(compiled.expression.evaluate(variables), JSON.parse(expected!), text);
  }
});

test('the workflow of the page is one', () => {
  const parsed = parseWorkflow(workflow, newId);
  assert.ok(parsed.ok);
  assert.deepEqual(planFlow(parsed.root, placeOf(null, 'root')).faults, []);
});
