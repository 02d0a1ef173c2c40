import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { SLICE_STEPS } from '../../src/expression/meter.ts';
import { compileTemplate } from '../../src/expression/template.ts';
import { SlicedWork } from '@heddle/base/sliced-work';

const VARIABLES = {
  nodes: { scan: { state: 'failed', result: { n: 3, hosts: ['a', 'b'] } } },
  workflow: { name: 'nightly' },
};

async function render(text: string): Promise<string> {
  const compiled = compileTemplate(text);
  if (!compiled.ok) throw compiled.fault;
  return compiled.template.render(VARIABLES, new SlicedWork({ slice_steps: SLICE_STEPS }));
}

describe('templates', () => {
  const cases: [string, string][] = [
    ['', ''],
    ['plain } text {', 'plain } text {'],
    ['{{ workflow.name }} is {{nodes.scan.state}}', 'nightly is failed'],
    ['{{ nodes.scan.result.n + 1 }} hosts: {{ nodes.scan.result.hosts.join(", ") }}', '4 hosts: a, b'],
    ['{{ nodes.scan.result.hosts }}', '["a","b"]'],
    ['<{{ null }}>', '<>'],
    ['{{ {"a": {"b": 1}} }}', '{"a":{"b":1}}'],
    ['{{ "}}" }}{{ \'{{\' }}', '}}{{'],
  ];
  for (const [text, expected] of cases) {
    it(`${JSON.stringify(text)} comes to ${JSON.stringify(expected)}`, async () => {
      assert.equal(await render(text), expected);
    });
  }

  it('name the expression that is wrong', async () => {
    await assert.rejects(render('a {{ nodes.scan. }} b'), /character 12 of "nodes\.scan\."/);
    await assert.rejects(render('a {{ workflow.name'), /has a "\{\{" without its "\}\}" \(character 3/);
    await assert.rejects(render('{{ workflow.owner }}'), /No such key: owner/);
    await assert.rejects(render('{{ 1 }}'.repeat(101)), /more than 100 expressions/);
  });
});
