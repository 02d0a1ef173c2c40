import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { JsonObject } from '@heddle/base/json';
import { newId } from '@heddle/base/random';
import { putCollectionData } from '../../../src/store/collection-data.ts';
import type { Statement } from '../../../src/store/database.ts';
import { claimKind, newBench } from '@heddle/test-support/engine/fixture';
import { finishNext, par, parsed, seq, statesOf, submitTree } from '@heddle/test-support/engine/flow/tree';

const expr = (text: string): JsonObject => ({ $expr: text });

describe('inputs with expressions', { concurrency: false }, () => {
  it('have their values when a task is handed out, and stay as submitted for who reads the task', async () => {
    const { engine } = await newBench();
    const input = {
      hosts: expr('nodes.scan.result.hosts.filter(h, h.up).map(h, h.ip)'),
      deep: [{ count: expr('size(nodes.scan.result.hosts)') }, 'kept'],
      of: expr('workflow.name + "/" + task.local_id + "/" + string(task.attempt)'),
      state: expr('nodes.scan.state'),
      group: expr('nodes.group.counts.succeeded'),
      missing: expr('nodes.scan.result.?owner.orValue("nobody")'),
    };
    const id = await submitTree(
      engine,
      seq({ id: 'group', ...seq({ id: 'scan', kind: 'scan' }) }, { ...par({ id: 'use', kind: 'use', input }) }),
      'nightly',
    );
    await finishNext(engine, 'scan', {
      hosts: [
        { ip: '10.0.0.1', up: true },
        { ip: '10.0.0.2', up: false },
      ],
    });
    const [task] = await claimKind(engine, 'use');
    assert.deepEqual(task!.metadata, {
      hosts: ['10.0.0.1'],
      deep: [{ count: 2 }, 'kept'],
      of: 'nightly/use/1',
      state: 'Succeeded',
      group: 1,
      missing: 'nobody',
    });
    assert.deepEqual((await engine.getTask(task!.id))!.metadata, input);
    assert.deepEqual((await engine.explain(task!.id))!.task.metadata, input);
    assert.ok(id);
  });

  it('read what tasks put into the data of their own workflow', async () => {
    const { engine, database } = await newBench();
    const root = seq(
      { id: 'put', kind: 'put' },
      {
        id: 'use',
        kind: 'use',
        input: { all: expr('data.hosts'), one: expr('data.limit + 1'), none: expr('has(data.other)') },
      },
    );
    const id = await submitTree(engine, root);
    const stranger = await submitTree(engine, root);
    const entry = { task_id: newId(), attempt: 1 };
    await putCollectionData(database, { ...entry, workflow_id: id, name: 'hosts', list: true, data: ['a', 'b'] }, null);
    await putCollectionData(database, { ...entry, workflow_id: id, name: 'limit', list: false, data: 4 }, null);
    await putCollectionData(database, { ...entry, workflow_id: stranger, name: 'limit', list: false, data: 9 }, null);
    await finishNext(engine, 'put');
    const [task] = await claimKind(engine, 'use');
    assert.deepEqual(task!.metadata, { all: ['a', 'b'], one: 5, none: false });
  });

  it('are worked out again for each attempt, and after a retry of the workflow', async () => {
    const { engine } = await newBench();
    const id = await submitTree(
      engine,
      seq(
        { id: 'first', kind: 'first', policy: 'ContinueOnFailure' },
        {
          id: 'then',
          kind: 'then',
          input: { n: expr('nodes.first.state == "Failed" ? 0 : nodes.first.result.n'), a: expr('task.attempt') },
        },
      ),
    );
    const [first] = await claimKind(engine, 'first');
    await engine.report([{ task_id: first!.id, attempt: 1, outcome: 'failed', reason: 'no' }]);
    const [then] = await claimKind(engine, 'then');
    assert.deepEqual(then!.metadata, { n: 0, a: 1 });
    await engine.report([{ task_id: then!.id, attempt: 1, outcome: 'succeeded' }]);
    await engine.retryWorkflow(id);
    await finishNext(engine, 'first', { n: 7 });
    const [again] = await claimKind(engine, 'then');
    assert.deepEqual(again!.metadata, { n: 7, a: 2 });
  });

  it('come along with reports, and with submissions', async () => {
    const { engine } = await newBench();
    await submitTree(
      engine,
      seq({ id: 'a', kind: 'work' }, { id: 'b', kind: 'work', input: { s: expr('nodes.a.state') } }),
    );
    const [a] = await claimKind(engine);
    const { claimed } = await engine.reportAndClaim(
      [{ task_id: a!.id, attempt: 1, outcome: 'succeeded', workflow: { id: a!.workflow_id, linked: a!.linked } }],
      { lanes: ['kind:work'], limit: 10, holder: 'test' },
    );
    assert.deepEqual(
      claimed.map(({ metadata }) => metadata),
      [{ s: 'Succeeded' }],
    );
  });

  it('fail their task for good where they fail, and hold back no one else', async () => {
    const { engine } = await newBench();
    const retry = { max_attempts: 5 };
    const id = await submitTree(
      engine,
      seq(
        { id: 'scan', kind: 'scan' },
        par(
          { id: 'bad', kind: 'use', retry, input: { list: [expr('nodes.scan.result.nothing.here')] } },
          { id: 'good', kind: 'use', input: { n: expr('nodes.scan.result.n') } },
          { id: 'plain', kind: 'use', input: { n: 3 } },
        ),
      ),
    );
    await finishNext(engine, 'scan', { n: 1 });
    const claimed = await claimKind(engine, 'use');
    assert.deepEqual(
      new Map(claimed.map(({ local_id, metadata }) => [local_id, metadata])),
      new Map<string, unknown>([
        ['good', { n: 1 }],
        ['plain', { n: 3 }],
      ]),
    );
    const states = await statesOf(engine, id);
    assert.deepEqual([states['bad'], states['good'], states['plain']], ['failed', 'running', 'running']);
    const { tree } = (await engine.getTree(id))!;
    const bad = tree.tasks.find(({ local_id }) => local_id === 'bad')!;
    assert.equal(bad.attempt, 1);
    assert.equal(
      (await engine.getTask(bad.id))!.failure_reason,
      'input.list[0].$expr: No such key: nothing (character 19 of "nodes.scan.result.nothing.here")',
    );
  });

  it('fail where their values are too large', async () => {
    const { engine } = await newBench();
    const id = await submitTree(
      engine,
      seq(
        { id: 'scan', kind: 'scan' },
        { id: 'use', kind: 'use', input: { a: expr('nodes.scan.result'), b: expr('nodes.scan.result') } },
      ),
    );
    await finishNext(engine, 'scan', 'x'.repeat(600_000));
    assert.deepEqual(await claimKind(engine, 'use'), []);
    const { tree } = (await engine.getTree(id))!;
    assert.match(
      (await engine.getTask(tree.tasks.find(({ local_id }) => local_id === 'use')!.id))!.failure_reason!,
      /^input: has \d+ bytes .* 1048576 are allowed$/,
    );
  });

  it('fail where they read too much at once, with its sizes, and the others of the set go out', async () => {
    const { engine } = await newBench();
    const names = Array.from({ length: 9 }, (_, index) => `scan${index}`);
    const scans = names.map((id) => ({ id, kind: 'scan' }));
    const all = names.map((name) => expr(`size(nodes.${name}.result)`));
    const id = await submitTree(
      engine,
      seq(
        par(...scans),
        par(
          { id: 'bad', kind: 'use', retry: { max_attempts: 3 }, input: { all } },
          { id: 'good', kind: 'use', input: { some: all.slice(0, 8) } },
          { id: 'plain', kind: 'use' },
        ),
      ),
    );
    for (const _ of names) await finishNext(engine, 'scan', 'x'.repeat(1_000_000));
    const claimed = await claimKind(engine, 'use');
    assert.deepEqual(
      new Map(claimed.map(({ local_id, metadata }) => [local_id, metadata])),
      new Map<string | null, unknown>([
        ['good', { some: Array.from({ length: 8 }, () => 1_000_000) }],
        ['plain', {}],
      ]),
    );
    const { tree } = (await engine.getTree(id))!;
    const bad = tree.tasks.find(({ local_id }) => local_id === 'bad')!;
    assert.deepEqual([bad.state, bad.attempt], ['failed', 1]);
    const shown = Array.from({ length: 5 }, () => String.raw`nodes\.scan\d \(1000002 bytes\)`).join(', ');
    assert.match(
      (await engine.getTask(bad.id))!.failure_reason!,
      new RegExp(
        `^input: what it reads is too large: ${shown} and 4 more; at most 8388608 bytes are allowed at once; .* an aggregator`,
      ),
    );
  });

  it('are read in several statements where one would read too much, and all go out as they were claimed', async () => {
    const bench = await newBench();
    const { engine, database } = bench;
    const names = Array.from({ length: 36 }, (_, index) => `scan${index}`);
    const uses = names.map((name) => ({ kind: 'use', input: { first: expr(`nodes.${name}.result.first`) } }));
    await submitTree(engine, seq(par(...names.map((id) => ({ id, kind: 'scan' }))), par(...uses)));
    for (const task of await claimKind(engine, 'scan')) {
      const result = { first: task.local_id!, rest: 'x'.repeat(1_000_000) };
      await engine.report([{ task_id: task.id, attempt: 1, outcome: 'succeeded', result }]);
    }
    let reads = 0;
    const original = database.query.bind(database);
    database.query = (statement: Statement, values?: readonly unknown[]) => {
      if (statement.name === 'flow.read_for_inputs') reads += 1;
      return original(statement, values as never) as never;
    };
    const claimed = await claimKind(engine, 'use');
    assert.deepEqual(new Set(claimed.map(({ metadata }) => metadata['first'])), new Set(names));
    assert.equal(reads, 2);
  });

  it('cost one statement for a whole set, and tasks without them none', async () => {
    const bench = await newBench();
    const { engine, database } = bench;
    const statements: string[] = [];
    const original = database.query.bind(database);
    database.query = (statement: Statement, values?: readonly unknown[]) => {
      statements.push(statement.name);
      return original(statement, values as never) as never;
    };
    const children = Array.from({ length: 50 }, (_, index) => ({
      id: `t${index}`,
      kind: 'use',
      input: { n: expr('nodes.scan.result') },
    }));
    await submitTree(engine, seq({ id: 'scan', kind: 'scan' }, par(...children)));
    await finishNext(engine, 'scan', 5);
    await claimKind(engine, 'other');
    statements.length = 0;
    assert.equal((await claimKind(engine, 'use', 20)).length, 20);
    assert.deepEqual(
      statements.filter((name) => name.startsWith('flow.')),
      ['flow.read_for_inputs'],
    );
    await submitTree(engine, par({ kind: 'plain', input: { n: 1 } }));
    statements.length = 0;
    assert.equal((await claimKind(engine, 'plain')).length, 1);
    assert.deepEqual(
      statements.filter((name) => name.startsWith('flow.')),
      [],
    );
  });

  it('are handed back where what they read cannot be read, and the others go out', async () => {
    const { engine, database } = await newBench();
    await submitTree(
      engine,
      par(
        { id: 'plain', kind: 'use' },
        seq({ id: 'a', kind: 'use' }, { id: 'b', kind: 'use', input: { s: expr('nodes.a.state') } }),
      ),
    );
    const first = await claimKind(engine, 'use', 2);
    const a = first.find(({ local_id }) => local_id === 'a')!;
    await engine.report([{ task_id: a.id, attempt: 1, outcome: 'succeeded' }]);
    await submitTree(engine, par({ id: 'other', kind: 'use' }));
    const original = database.query.bind(database);
    database.query = (statement: Statement, values?: readonly unknown[]) => {
      if (statement.name === 'flow.read_for_inputs') return Promise.reject(new Error('the connection broke'));
      return original(statement, values as never) as never;
    };
    assert.deepEqual(
      (await claimKind(engine, 'use')).map(({ local_id }) => local_id),
      ['other'],
    );
    database.query = original;
    const [b] = await claimKind(engine, 'use');
    assert.deepEqual([b!.local_id, b!.attempt, b!.metadata], ['b', 2, { s: 'Succeeded' }]);
  });
});

describe('faults of expressions in inputs', () => {
  const faults: [string, JsonObject, RegExp][] = [
    [
      'syntax',
      seq({ kind: 'a', input: { x: expr('1 +') } }),
      /^root\.children\[0\]\.input\.x\.\$expr: Unexpected token: EOF/,
    ],
    [
      'an unknown node',
      seq({ id: 'scan', kind: 'a' }, { kind: 'b', input: { x: [expr('nodes.scam.result')] } }),
      /^root\.children\[1\]\.input\.x\[0\]\.\$expr: there is no node "scam"; did you mean "scan"\?$/,
    ],
    [
      'a later node',
      seq({ kind: 'b', input: { x: expr('nodes.scan.result') } }, { id: 'scan', kind: 'a' }),
      /the node "scan" does not precede this task/,
    ],
    [
      'a node beside it',
      par({ id: 'scan', kind: 'a' }, { kind: 'b', input: { x: expr('nodes.scan.result') } }),
      /does not precede/,
    ],
    ['itself', seq({ id: 'me', kind: 'b', input: { x: expr('nodes.me.state') } }), /does not precede/],
    [
      'a container around it',
      seq({ id: 'all', ...seq({ kind: 'b', input: { x: expr('nodes.all.state') } }) }),
      /does not precede/,
    ],
    ['all nodes', seq({ kind: 'b', input: { x: expr('size(nodes)') } }), /"nodes" is read by name only/],
    [
      'a variable',
      seq({ kind: 'b', input: { x: expr('node.a') } }),
      /there is no variable "node"; did you mean "nodes"\?/,
    ],
    [
      'no text',
      seq({ kind: 'b', input: { x: { $expr: 5 } } }),
      /input\.x\.\$expr: must be a string with an expression$/,
    ],
    ['other members', seq({ kind: 'b', input: { x: { $expr: '1', y: 2 } } }), /must be the only member of its object/],
    [
      'too many',
      seq({ kind: 'b', input: { x: Array.from({ length: 33 }, () => expr('1')) } }),
      /holds 33 expressions; at most 32 are allowed/,
    ],
  ];
  for (const [name, root, expected] of faults) {
    it(`are refused: ${name}`, async () => {
      const { engine } = await newBench();
      const submission = { name: null, root: parsed(root), traceparent: null, idempotency: null, job_run_id: null };
      await assert.rejects(engine.submitWorkflows([submission]), (error: { details: string[] }) => {
        assert.match(error.details[0]!, expected);
        return true;
      });
    });
  }
});
