import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { encodeNode } from '../../../src/domain/parse/encode.ts';
import { parseNode, parseWorkflow } from '../../../src/domain/parse/workflow.ts';
import type { NewContainerNode, NewTaskNode } from '@heddle/base/vocabulary/workflow';
import { deterministicIds } from '../../support/domain/scenario.ts';
import { deepChain, nodeArbitrary } from '../../support/domain/parse/trees.ts';

const ID = '0190a6e4-0000-7000-8000-00000000000a';

function faultsOf(value: unknown): string[] {
  const parsed = parseWorkflow(value, deterministicIds());
  return parsed.ok ? [] : parsed.faults;
}

/** The faults of a workflow whose root has these children. */
function faultsOfChildren(...children: unknown[]): string[] {
  return faultsOf({ root: { mode: 'parallel', children } });
}

function parseTask(task: Record<string, unknown>): NewTaskNode {
  const parsed = parseNode(task, deterministicIds());
  assert.ok(parsed.ok, 'it has faults');
  assert.equal(parsed.node.type, 'task');
  return parsed.node;
}

test('a task gets the defaults of everything it leaves out', () => {
  const { task, ...node } = parseTask({ kind: 'TcpSyn' });
  assert.deepEqual(node, { type: 'task', policy: 'FailOnFailure', disabled: false, generates: false });
  assert.partialDeepStrictEqual(
    { ...task, id: null },
    {
      id: null,
      local_id: null,
      name: 'TcpSyn',
      kind: 'TcpSyn',
      timeout_secs: 3600,
      deadline_basis: 'activity',
      priority: 0,
      delay_ms: 0,
      metadata: {},
      expected_count: null,
      actions: [],
      rules: [],
      dedupe: [],
      retry: null,
      dependencies: [],
    },
  );
});

test('webhooks and rules are read, and what is wrong with them is named', () => {
  const { task } = parseTask({
    kind: 'work',
    on_start: { kind: 'Webhook', params: { url: 'https://example.com', verb: 'Post', body: { a: 1 } } },
    on_failure: [{ kind: 'Webhook', params: { url: 'https://example.com/f', verb: 'Get' }, max_tries: 2 }],
    rules: [{ type: 'Concurency', matcher: { kind: 'work', status: 'Running', fields: ['a'] }, max_concurency: 3 }],
  });
  assert.deepEqual(
    task.actions.map(({ trigger, params, max_tries }) => [trigger, params.url, max_tries]),
    [
      ['start', 'https://example.com', undefined],
      ['failure', 'https://example.com/f', 2],
    ],
  );
  assert.deepEqual(task.rules, [{ type: 'concurrency', matcher: { kind: 'work', fields: ['a'] }, max: 3 }]);
  const hook = (params: object): object => ({
    kind: 'Webhook',
    params: { url: 'https://example.com', verb: 'Get', ...params },
  });
  for (const [extra, expected] of [
    [{ on_start: hook({ url: 'ftp://example.com' }) }, /on_start\.params\.url: must start with http/],
    [{ on_start: hook({ verb: 'POST' }) }, /on_start\.params\.verb: must be .*did you mean "Post"/],
    [{ on_success: hook({}) }, /on_success: must be an array/],
    [
      { on_success: [hook({ headers: { host: 'x' } })] },
      /on_success\[0\]\.params\.headers\.host: is set by the connection/,
    ],
    [{ on_cancel: [{ kind: 'Mail', params: {} }] }, /on_cancel\[0\]\.kind: must be "Webhook"/],
    [{ rules: [{ type: 'Capacity', matcher: { kind: 'a', fields: [] } }] }, /rules\[0\]\.max_capacity: is required/],
    [
      { rules: [{ type: 'Concurrency', matcher: { kind: 'a', fields: [1] }, max_concurrency: 1 }] },
      /matcher\.fields: must be/,
    ],
    [
      { rules: [{ type: 'Concurrency', matcher: { kind: 'a', fields: [] }, max_concurrency: 1, max_concurency: 1 }] },
      /both spellings/,
    ],
  ] as const) {
    assert.match(faultsOfChildren({ kind: 'work', ...extra }).join('\n'), expected);
  }
});

test('an id that is a UUID is the id itself, any other is a name', () => {
  const byId = parseTask({ id: ID.toUpperCase(), kind: 'work' }).task;
  assert.deepEqual([byId.id, byId.local_id, byId.name], [ID, null, 'work']);
  const byName = parseTask({ id: 'probe', kind: 'work' }).task;
  assert.deepEqual([byName.local_id, byName.name], ['probe', 'probe']);
  assert.notEqual(byName.id, 'probe');
  const byBoth = parseTask({ id: ID, local_id: 'probe', kind: 'work' }).task;
  assert.deepEqual([byBoth.id, byBoth.local_id], [ID, 'probe']);
});

test('kinds that end with Generator generate unless they say otherwise', () => {
  assert.equal(parseTask({ kind: 'TcpSynGenerator' }).generates, true);
  assert.equal(parseTask({ kind: 'TcpSynGenerator', generator: false }).generates, false);
  assert.equal(parseTask({ kind: 'work', generator: true }).generates, true);
});

test('ids are made once for each node without one, and grow in the order of the document', () => {
  const ids = deterministicIds();
  let made = 0;
  const count = (): string => {
    made += 1;
    return ids();
  };
  const task = { kind: 'work' };
  const parsed = parseWorkflow(
    { name: 'w', root: { id: ID, mode: 'sequential', children: [task, { mode: 'parallel', children: [task] }, task] } },
    count,
  );
  assert.ok(parsed.ok);
  assert.equal(made, 4);
  assert.equal(parsed.root.id, ID);
  const [first, inner, last] = parsed.root.children as [NewTaskNode, NewContainerNode, NewTaskNode];
  const order = [first.task.id, inner.id, (inner.children[0] as NewTaskNode).task.id, last.task.id];
  assert.deepEqual(order, order.toSorted());
});

test('each fault names its path and the remedy', () => {
  assert.deepEqual(faultsOf([]), ['body: must be an object with name and root, not an array']);
  assert.deepEqual(faultsOf({ nam: 'x' }), ['nam: is not a known member; did you mean "name"?', 'root: is required']);
  assert.deepEqual(faultsOf({ root: { kind: 'work' } }), [
    'root: must be a container, not a task; wrap it in { "mode": "sequential", "children": [...] }',
  ]);
  assert.deepEqual(
    faultsOfChildren(
      { mode: 'serial', children: [] },
      { mode: 'Parallel', children: {} },
      { mode: 'parallel' },
      { mode: 'parallel', children: [], kind: 'x' },
      7,
      { knd: 'work' },
    ),
    [
      'root.children[0].mode: must be "sequential" or "parallel", not "serial"',
      'root.children[1].mode: must be "sequential" or "parallel", not "Parallel"; did you mean "parallel"?',
      'root.children[1].children: must be an array of nodes, not an object',
      'root.children[2].children: is required; [] for an empty container',
      'root.children[3]: has both kind and mode; make it a task or a container',
      'root.children[4]: must be a task or a container, not a number'.replace('a number', '7'),
      'root.children[5]: must have kind, as a task, or mode and children, as a container; did you mean "kind" by "knd"?',
    ],
  );
});

test('faults of tasks', () => {
  const faulty = (members: Record<string, unknown>): string[] => faultsOfChildren({ kind: 'work', ...members });
  const cases: [Record<string, unknown>, string][] = [
    [{ timeout: 5 }, '.timeout: is not a known member; did you mean "timeout_secs"?'],
    [{ timeout_secs: 0 }, '.timeout_secs: must be between 1 and 86400, not 0'],
    [{ timeout_secs: '60' }, '.timeout_secs: must be a number, not "60"; leave out the quotes'],
    [{ timeout_secs: 1.5 }, '.timeout_secs: must be a whole number, not 1.5'],
    [{ priority: 1001 }, '.priority: must be between -1000 and 1000, not 1001'],
    [{ delay: -1 }, '.delay: must be between 0 and 31536000, not -1'],
    [{ disabled: 'yes' }, '.disabled: must be true or false, not "yes"'],
    [
      { policy: 'ContinueOnFail' },
      '.policy: must be "FailOnFailure", "ContinueOnPartialFailure" or "ContinueOnFailure", not "ContinueOnFail"; ' +
        'did you mean "ContinueOnFailure"?',
    ],
    [{ id: '' }, '.id: must have 1 to 100 characters, not 0'],
    [{ id: 'x'.repeat(101) }, '.id: must have 1 to 100 characters, not 101'],
    [{ id: 'a', local_id: 'b' }, '.local_id: conflicts with the local name in id; remove one of the two'],
    [{ name: 'a\0b' }, '.name: holds a NUL character (\\u0000), which cannot be stored; remove it'],
    [{ input: [] }, '.input: must be an object, not an array'],
    [
      { input: { a: { 'b c': 2 ** 60 } } },
      '.input.a["b c"]: must lie within ±9007199254740991, or it would lose digits; send it as a string',
    ],
    [{ input: { '\ud800': 1 } }, '.input["\ufffd"]: holds half of a surrogate pair; send whole characters'],
    [
      { input: { text: 'é'.repeat(40_000) } },
      '.input: must have at most 65536 bytes as JSON, not 80011; keep large data elsewhere',
    ],
    [{ retry: { backoff_secs: 1 } }, '.retry.max_attempts: is required'],
    [{ retry: { max_attempts: 2, backoff: 1 } }, '.retry.backoff: is not a known member; did you mean "backoff_secs"?'],
  ];
  for (const [members, fault] of cases) assert.deepEqual(faulty(members), [`root.children[0]${fault}`]);
  assert.equal(faulty({ input: JSON.parse(`{"a":${'['.repeat(9000)}${']'.repeat(9000)}}`) }).length, 1);
});

test('ids and local names are unique', () => {
  const task = { kind: 'work' };
  assert.deepEqual(
    faultsOf({
      root: {
        id: 'x',
        mode: 'parallel',
        children: [
          { ...task, id: ID },
          { ...task, id: 'x' },
          { ...task, id: ID.toUpperCase() },
        ],
      },
    }),
    [
      'root.children[1].id: repeats "x" of root.id; give each node its own id',
      `root.children[2].id: repeats "${ID}" of root.children[0].id; give each node its own id`,
    ],
  );
});

test('at most a hundred faults are named', () => {
  assert.equal(faultsOfChildren(...Array.from({ length: 500 }, () => ({ kind: 5 }))).length, 100);
});

test('a tree may be 1,000 levels deep, and a deeper one is refused without walking it', () => {
  assert.deepEqual(faultsOf({ root: deepChain(1000) }), []);
  const [fault, ...others] = faultsOf({ root: deepChain(100_000) });
  assert.match(fault!, /^root\.children\[0\].*….*children: are nested deeper than 1000 levels; flatten the tree$/);
  assert.deepEqual(others, []);
  const circle: Record<string, unknown> = { mode: 'parallel' };
  circle['children'] = [circle];
  assert.equal(faultsOf({ root: circle }).length, 1);
});

test('a submission holds 100,000 nodes, a created node 1,000', () => {
  const tasks = (count: number): unknown[] => Array.from({ length: count }, () => ({ kind: 'work' }));
  const workflow = (count: number): unknown => ({ root: { mode: 'parallel', children: tasks(count - 1) } });
  assert.deepEqual(faultsOf(workflow(100_000)), []);
  assert.deepEqual(faultsOf(workflow(100_001)), [
    'root.children[99999]: is beyond the 100000 nodes that are allowed at once; submit fewer',
  ]);
  const node = parseNode({ mode: 'parallel', children: tasks(1000) }, deterministicIds());
  assert.ok(!node.ok);
  assert.deepEqual(node.faults, [
    'task.children[999]: is beyond the 1000 nodes that are allowed at once; submit fewer',
  ]);
});

test('a node survives its way over the wire', () => {
  fc.assert(
    fc.property(nodeArbitrary(), (node) => {
      const parsed = parseNode(JSON.parse(JSON.stringify(encodeNode(node))), () => assert.fail('an id was made'));
      assert.deepEqual(parsed, { ok: true, node });
    }),
  );
});

test('whatever is sent, the answer is a workflow or faults', () => {
  fc.assert(
    fc.property(fc.anything({ withNullPrototype: true, withSparseArray: true }), (value) => {
      for (const root of [value, { mode: 'parallel', children: [value] }, { kind: 'work', input: value }]) {
        const parsed = parseWorkflow({ root }, deterministicIds());
        if (!parsed.ok) assert.ok(parsed.faults.length > 0);
      }
    }),
  );
});
