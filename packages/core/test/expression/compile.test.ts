import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { compileExpression, EXPRESSION_CHARS_MAX } from '../../src/expression/compile.ts';
import type { CompileOptions } from '../../src/expression/compile.ts';
import { ExpressionError } from '../../src/expression/fault.ts';

const NODES = {
  scan: {
    state: 'succeeded',
    result: {
      count: 5,
      ratio: 2.5,
      name: 'edge',
      nothing: null,
      ports: [22, 80, 443],
      services: [
        { ip: '10.0.0.1', port: 22 },
        { ip: '10.0.0.2', port: 443 },
      ],
    },
  },
};
const VARIABLES = {
  nodes: NODES,
  data: {},
  workflow: { id: 'w', name: 'nightly' },
  task: { id: 't', attempt: 2 },
  now: new Date('2026-03-01T12:00:00Z'),
};

function evaluate(text: string, variables: Record<string, unknown> = VARIABLES, options?: CompileOptions): unknown {
  const compiled = compileExpression(text, options);
  if (!compiled.ok) throw compiled.fault;
  return compiled.expression.evaluate(variables);
}

function faultOf(text: string, options?: CompileOptions): string {
  const compiled = compileExpression(text, options);
  if (compiled.ok) assert.fail(`${text} should not compile`);
  return compiled.fault.message;
}

describe('expressions', () => {
  const values: [string, unknown][] = [
    ['nodes.scan.result.count == 5', true],
    ['5 == nodes.scan.result.count', true],
    ['nodes.scan.result.count + 1', 6],
    ['10 - nodes.scan.result.count * 2', 0],
    ['nodes.scan.result.count / 2', 2.5],
    ['7 / 2', 3],
    ['nodes.scan.result.count % 2', 1],
    ['nodes.scan.result.count > 4 && nodes.scan.result.ratio < 3', true],
    ['nodes.scan.result.count in [1, 5]', true],
    ['22 in nodes.scan.result.ports', true],
    ['nodes.scan.result.ports == [22, 80, 443]', true],
    ['size(nodes.scan.result.ports) == 3', true],
    ['size(nodes.scan.result.ports) + nodes.scan.result.count', 8],
    ['nodes.scan.result.ports[0]', 22],
    ['nodes.scan.result.services.filter(s, s.port == 22).map(s, s.ip)', ['10.0.0.1']],
    ['nodes.scan.result.services.map(s, s.ip + ":" + string(s.port))', ['10.0.0.1:22', '10.0.0.2:443']],
    ['nodes.scan.result.services.exists(s, s.port > 400)', true],
    ['nodes.scan.result.nothing == null', true],
    ['nodes.scan.result.?owner.orValue("nobody")', 'nobody'],
    ['has(nodes.scan.result.owner) ? nodes.scan.result.owner : "none"', 'none'],
    ['{"a": 1, "b": "x", "c": [1, 2.5, null]}', { a: 1, b: 'x', c: [1, 2.5, null] }],
    ['nodes.scan.result.name.matches("^e[a-f]+")', true],
    ['workflow.name + "-" + string(task.attempt)', 'nightly-2'],
    ['now', '2026-03-01T12:00:00Z'],
    ['now - duration("36h")', '2026-02-28T00:00:00Z'],
    ['timestamp("2026-01-01T00:00:00Z") < now', true],
    ['now.getFullYear()', 2026],
    ['duration("90s")', '90s'],
    ['b"abc"', 'YWJj'],
    ['cel.bind(n, nodes.scan.result.count, n * n)', 25],
    ['nodes.scan.result.name.substring(nodes.scan.result.count - 4)', 'dge'],
  ];
  for (const [text, expected] of values) {
    it(`${text} is ${JSON.stringify(expected)}`, () => {
      assert.deepEqual(evaluate(text), expected);
    });
  }

  it('can be evaluated again with other values', () => {
    const compiled = compileExpression('nodes.a.result.n * 2');
    assert.ok(compiled.ok);
    const of = (n: number) => compiled.expression.evaluate({ nodes: { a: { result: { n } } } });
    assert.deepEqual([of(1), of(21)], [2, 42]);
  });

  it('name what they read', () => {
    const compiled = compileExpression('nodes.a.result.x + nodes["b c"].result.y + size(data.hosts.map(n, n.x))');
    assert.ok(compiled.ok);
    const { references } = compiled.expression;
    assert.deepEqual([...references.get('nodes')!.members.keys()].sort(), ['a', 'b c']);
    assert.equal(references.get('nodes')!.whole_at, null);
    assert.deepEqual([...references.get('data')!.members.keys()], ['hosts']);
    const whole = compileExpression('1 + size(nodes)');
    assert.ok(whole.ok);
    assert.equal(whole.expression.references.get('nodes')?.whole_at, 9);
  });

  it('may be open to names that are not known before', () => {
    const options = { variables: [], open: true };
    assert.equal(evaluate('port == 22 && state != "closed"', { port: 22, state: 'open' }, options), true);
    assert.throws(() => evaluate('port == 22', {}, options), /Unknown variable: port \(character 1 of "port == 22"\)/);
  });
});

describe('faults of expressions', () => {
  const faults: [string, RegExp][] = [
    ['', /the expression is empty/],
    ['5 +', /Unexpected token: EOF \(character 4 of "5 \+"\)/],
    ['node.a', /there is no variable "node"; did you mean "nodes"\? \(character 1 of "node\.a"\)/],
    ['frobnicate(1)', /found no matching overload for 'frobnicate\(int\)'/],
    ['"a".matches("(a")', /the pattern "\(a" is not valid: a group is not closed \(at 1\)/],
    ['"a".matches("(?=a)")', /lookahead is not supported/],
    ['"a".matches(r"(a)\\1")', /a backreference is not supported/],
    ['[1].map(nodes, nodes) == nodes.a', /"nodes" is already a variable here/],
    [`"${'x'.repeat(EXPRESSION_CHARS_MAX)}"`, /has 4098 characters; at most 4096 are allowed/],
    ['1+'.repeat(2000) + '1', /Exceeded maxAstNodes \(1000\)/],
    ['('.repeat(2000), /Exceeded maxDepth \(60\)/],
    ['!'.repeat(4000) + 'true', /Exceeded maxAstNodes/],
  ];
  for (const [text, expected] of faults) {
    it(`${text.slice(0, 40)} is refused when compiled`, () => {
      assert.match(faultOf(text), expected);
    });
  }

  const failures: [string, RegExp][] = [
    ['nodes.scan.result.owner', /No such key: owner \(character 19 of "nodes\.scan\.result\.owner"\)/],
    ['nodes.scan.result.?owner', /its value may be missing; end it with \.orValue/],
    ['1 / 0', /division by zero/],
    ['nodes.scan.result.count > "a"', /no such overload/],
    ['type(1)', /is a type/],
    ['9007199254740993', /beyond ±9007199254740991/],
    ['nodes.scan.result.ratio / 0', /which JSON cannot represent/],
  ];
  for (const [text, expected] of failures) {
    it(`${text} fails when evaluated`, () => {
      assert.throws(
        () => evaluate(text),
        (error) => error instanceof ExpressionError && expected.test(error.message) && error.expression === text,
      );
    });
  }

  it('stay short, however long expression and values are', () => {
    assert.ok(faultOf('1+'.repeat(2000)).length < 400);
    assert.throws(
      () => evaluate('bool(data.big)', { data: { big: 'a'.repeat(1_000_000) } }),
      (error: Error) => {
        return error.message.length < 600;
      },
    );
  });
});

describe('members of prototypes', () => {
  const constructors = { constructor: 'F1', deep: [{ constructor: { name: 'Lotus' } }] };
  for (const text of [
    'nodes.constructor',
    'nodes.scan.__proto__',
    'nodes.scan["__proto__"]',
    'nodes.scan.result.ports.constructor',
    'nodes.scan.result.toString',
    'now.constructor',
    'dyn(now).__proto__',
    'dyn(now)["__pro" + "to__"]',
    'dyn(duration("1s")).__proto__',
    'dyn(type(1)).name',
    'google.protobuf.Duration.name',
    'optional.constructor',
    'cel.constructor',
    'dyn(cel).__proto__',
  ]) {
    it(`${text} cannot be reached`, () => {
      assert.throws(() => evaluate(text), ExpressionError);
    });
  }

  it('do not stand in the way of own members of the same name', () => {
    const variables = { nodes: { team: constructors } };
    assert.equal(evaluate('nodes.team.constructor', variables), 'F1');
    assert.equal(evaluate('nodes.team.deep[0].constructor.name', variables), 'Lotus');
    assert.equal(evaluate('has(nodes.team.constructor)', variables), true);
    assert.deepEqual(evaluate('nodes.team', variables), constructors);
    assert.deepEqual(evaluate('nodes.team.deep.map(d, d.constructor.name)', variables), ['Lotus']);
  });

  it('are not written either', () => {
    const made = evaluate('{"__proto__": {"polluted": true}, "a": 1}') as object;
    assert.deepEqual(Object.keys(made), ['a']);
    assert.equal(({} as { polluted?: boolean }).polluted, undefined);
  });
});
