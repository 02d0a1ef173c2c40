import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { compileTemplate } from '../../src/expression/template.ts';

const VARIABLES = {
  nodes: { scan: { state: 'failed', result: { n: 3, hosts: ['a', 'b'] } } },
  workflow: { name: 'nightly' },
};

function render(text: string): string {
  const compiled = compileTemplate(text);
  if (!compiled.ok) throw compiled.fault;
  return compiled.template.render(VARIABLES);
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
    it(`${JSON.stringify(text)} comes to ${JSON.stringify(expected)}`, () => {
      assert.equal(render(text), expected);
    });
  }

  it('name the expression that is wrong', () => {
    assert.throws(() => render('a {{ nodes.scan. }} b'), /character 12 of "nodes\.scan\."/);
    assert.throws(() => render('a {{ workflow.name'), /has a "\{\{" without its "\}\}" \(character 3/);
    assert.throws(() => render('{{ workflow.owner }}'), /No such key: owner/);
    assert.throws(() => render('{{ 1 }}'.repeat(101)), /more than 100 expressions/);
  });
});
