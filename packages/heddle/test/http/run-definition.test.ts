/** Definitions of runs, and running them again, against the real engine on a real PostgreSQL. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { HeddleApiError, HeddleClient } from '@heddle/client';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId, systemRandom } from '@heddle/base/random';
import { parseNode } from '@heddle/core/domain/parse/workflow';
import { createEngine } from '@heddle/core/engine/engine';
import type { Engine } from '@heddle/core/engine/port';
import { eventually } from '@heddle/test-support/eventually';
import { createTestServer, type TestServer } from '@heddle/test-support/http/server';
import { createTestDatabase } from '@heddle/test-support/postgres';
import type { Database } from '@heddle/core/store/database';
import type { NewTaskDto } from '../../src/http/wire/new-task.ts';
import type { NewWorkflowDto } from '../../src/http/wire/new-workflow.ts';

let server: TestServer;
let engine: Engine;
let client: HeddleClient;
let database: Database;

before(async () => {
  ({ database } = await createTestDatabase());
  engine = createEngine({
    database,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
    archiveAfterMs: 0,
  });
  server = await createTestServer({ engine, database });
  const baseUrl = await server.app.listen({ port: 0, host: '127.0.0.1' });
  client = new HeddleClient({ baseUrl });
});

after(async () => {
  await server.app.close();
  await engine.close();
});

const TARGET = 'https://target.example/call';

const TASKS: NewTaskDto[] = [
  {
    id: 'fetch',
    name: 'Fetch',
    kind: 'definition.fetch',
    timeout: 60,
    timeout_basis: 'start',
    priority: 5,
    expected_count: 7,
    metadata: { source: 'orders', nested: { list: [1, null, 'x'] } },
    on_start: { kind: 'Webhook', params: { url: TARGET, verb: 'Post', headers: { 'x-tenant': 'a' } }, max_tries: 2 },
    on_failure: [{ kind: 'Webhook', params: { url: TARGET, verb: 'Get' } }],
    rules: [
      {
        type: 'Concurrency',
        matcher: { kind: 'definition.fetch', status: 'Running', fields: ['source'] },
        max_concurrency: 2,
      },
      { type: 'Capacity', matcher: { kind: 'definition.fetch', status: 'Running', fields: [] }, max_capacity: 100 },
    ],
    policy: 'ContinueOnFailure',
  },
  {
    id: 'store',
    name: 'Store',
    kind: 'definition.store',
    dependencies: [{ id: 'fetch', requires_success: false }],
    retry: { max_attempts: 3, backoff_secs: 0.5, factor: 1, max_backoff_secs: 9, jitter: 0 },
    dedupe_strategy: [{ kind: 'definition.store', status: 'Running', fields: ['shop'] }],
    requirements: {
      resource_class: 'large',
      usage_class: 'spot',
      allowed_instance_types: ['m7*'],
      cpu: 4,
      memory_mib: 4096,
      count: 2,
    },
  },
  { name: 'Report', kind: 'definition.report', dependencies: [{ id: 'fetch' }, { id: 'store' }] },
];

const WORKFLOW: NewWorkflowDto = {
  name: 'nightly',
  root: {
    mode: 'sequential',
    id: 'whole',
    children: [
      { id: 'split', kind: 'definition.split', generator: true, input: { parts: 2 } },
      { id: 'parts', mode: 'parallel', policy: 'ContinueOnPartialFailure', children: [] },
      {
        id: 'choose',
        kind: 'Conditional',
        input: { when: 'nodes.split.result == null', then: 'left', else: ['right'] },
      },
      { id: 'left', kind: 'definition.left', disabled: true },
      { id: 'right', kind: 'definition.right', name: 'the right one', input: { of: { $expr: 'nodes.split.result' } } },
      { kind: 'definition.nameless', timeout_secs: 5, policy: 'ContinueOnFailure' },
    ],
  },
  notify: [{ on: ['Failed'], to: { webhook: { url: TARGET, verb: 'Post' } }, title: 'it is {{ workflow.state }}' }],
};

async function submitBatch(tasks: NewTaskDto[], batchName?: string): Promise<string> {
  const { batchId } = await client.submit(tasks, batchName === undefined ? {} : { batchName });
  return batchId!;
}

async function run(kind: string): Promise<number> {
  const claimed = await engine.claim({ lanes: [`kind:${kind}`], limit: 100, holder: 'test' });
  await engine.report(claimed.map(({ id, attempt }) => ({ task_id: id, attempt, outcome: 'succeeded' })));
  return claimed.length;
}

function refused(status: number, what: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof HeddleApiError);
    assert.equal(error.status, status, error.message);
    assert.match(error.message, what);
    return true;
  };
}

describe('the definition of a run', () => {
  test('of a batch is what was submitted', async () => {
    const id = await submitBatch(TASKS, 'orders');
    const definition = await client.operations.definition(id);
    assert.deepEqual(definition, {
      type: 'batch',
      name: 'orders',
      tasks: TASKS,
      redacted: false,
      left_out: { generated_tasks: 0, dependencies: 0 },
    });
  });

  test('of a workflow is what was submitted, with expressions, branches and notifications', async () => {
    const { id } = await client.submitWorkflow(WORKFLOW);
    const definition = await client.operations.definition(id);
    assert.deepEqual(definition, {
      type: 'workflow',
      name: 'nightly',
      workflow: WORKFLOW,
      redacted: false,
      left_out: { generated_tasks: 0, dependencies: 0 },
    });
    const again = await client.submitWorkflow(WORKFLOW);
    assert.deepEqual(await client.operations.definition(again.id), definition);
  });

  test('leaves out what generators created, and is the same in the archive', async () => {
    const kind = 'definition.archived';
    const root: NewWorkflowDto['root'] = {
      mode: 'parallel',
      children: [
        { id: 'make', kind, generator: true },
        { id: 'made', mode: 'parallel', children: [] },
      ],
    };
    const { id } = await client.submitWorkflow({ root });
    const [generator] = await engine.claim({ lanes: [`kind:${kind}`], limit: 1, holder: 'test' });
    const node = parseNode({ mode: 'parallel', children: [{ kind }, { kind }] }, newId);
    assert.ok(node.ok);
    await engine.createNodes([{ generator_id: generator!.id, attempt: 1, node: node.node, parent: 'made' }]);
    await engine.report([{ task_id: generator!.id, attempt: 1, outcome: 'succeeded', expected_created: 1 }]);
    const live = await client.operations.definition(id);
    assert.deepEqual(live.type === 'workflow' && live.workflow, { root });
    assert.deepEqual(live.left_out, { generated_tasks: 2, dependencies: 0 });
    assert.equal(await run(kind), 2);
    await eventually(async () => {
      await database.query({ name: 'test_finalize', text: 'delete from finalization' });
      await engine.retain(100);
      return (await engine.getWorkflow(id))!.archived;
    }, 'the workflow is archived');
    assert.deepEqual(await client.operations.definition(id), live);
  });

  test('names nodes that inputs know by their ids', async () => {
    const [first, second] = [newId(), newId()];
    const root = {
      mode: 'sequential' as const,
      children: [
        { id: first, kind: 'definition.named' },
        { id: second, local_id: 'second', kind: 'definition.named' },
        {
          kind: 'definition.named',
          input: { one: { $expr: `nodes["${first}"].result` }, two: `${second}/report.xml` },
        },
      ],
    };
    const { id } = await client.submitWorkflow({ root });
    const definition = await client.operations.definition(id);
    assert.ok(definition.type === 'workflow');
    assert.deepEqual(definition.workflow.root, {
      mode: 'sequential',
      children: [
        { id: 'node-2', kind: 'definition.named', name: 'definition.named' },
        { id: 'second', kind: 'definition.named', name: 'second' },
        { kind: 'definition.named', input: { one: { $expr: 'nodes["node-2"].result' }, two: 'second/report.xml' } },
      ].map((node) => (node.id === 'second' ? { id: 'second', kind: node.kind } : node)),
    });
    const again = await client.operations.rerun(id);
    assert.deepEqual(await client.operations.definition(again.id), definition);
  });

  test('redacts secrets of requests and keeps the names of secrets', async () => {
    const params = {
      url: `${TARGET}?token=hunter2`,
      verb: 'Post' as const,
      headers: { authorization: 'Bearer hunter2', 'x-key': { secret: 'KEY' } },
    };
    const id = await submitBatch([{ name: 'n', kind: 'definition.secret', on_start: { kind: 'Webhook', params } }]);
    const definition = await client.operations.definition(id);
    assert.equal(definition.redacted, true);
    assert.doesNotMatch(JSON.stringify(definition), /hunter2/);
    assert.match(JSON.stringify(definition), /"secret":"KEY"/);
  });

  test('of an unknown run is not found', async () => {
    await assert.rejects(client.operations.definition(newId()), refused(404, /run_id: no batch or workflow/));
    await assert.rejects(client.operations.rerun(newId()), refused(404, /run_id: no batch or workflow/));
  });
});

describe('running a run again', () => {
  test('starts an equal batch, with its secrets and with duplicates', async () => {
    const kind = 'definition.again';
    const headers = { authorization: 'Bearer hunter2' };
    const tasks: NewTaskDto[] = [
      {
        id: 'one',
        name: 'one',
        kind,
        on_success: [{ kind: 'Webhook', params: { url: TARGET, verb: 'Post', headers } }],
        dedupe_strategy: [{ kind, status: 'Pending', fields: [] }],
      },
      { name: 'two', kind, dependencies: [{ id: 'one' }] },
    ];
    const id = await submitBatch(tasks, 'shop');
    const again = await client.operations.rerun(id);
    assert.equal(again.type, 'batch');
    assert.notEqual(again.id, id);
    const { workflow, tasks: stored } = (await engine.getDag(again.id))!;
    assert.equal(workflow.name, 'shop');
    assert.deepEqual(
      stored.map(({ name, state }) => `${name} ${state}`),
      ['one pending', 'two waiting'],
    );
    const detail = await engine.getTask(stored[0]!.id);
    assert.deepEqual(detail!.actions[0]!.params.headers, headers);
    assert.deepEqual(await client.operations.definition(again.id), await client.operations.definition(id));
  });

  test('with a key starts once', async () => {
    const { id } = await client.submitWorkflow(WORKFLOW);
    const key = newId();
    const first = await client.operations.rerun(id, { idempotencyKey: key });
    const repeated = await client.operations.rerun(id, { idempotencyKey: key });
    assert.equal(repeated.id, first.id);
    const other = client.operations.rerun(id, { idempotencyKey: key, inputs: { split: { parts: 3 } } });
    await assert.rejects(other, refused(422, /Idempotency-Key/));
  });

  test('takes other inputs by id or by name, and rejects those of no task', async () => {
    const { id } = await client.submitWorkflow(WORKFLOW);
    const { tree } = (await engine.getTree(id))!;
    const split = tree.tasks.find(({ local_id }) => local_id === 'split')!;
    const again = await client.operations.rerun(id, { inputs: { [split.id]: { parts: 3 }, right: { of: 4 } } });
    const stored = (await engine.getTree(again.id))!.tree.tasks;
    const inputOf = (name: string): unknown => stored.find(({ local_id }) => local_id === name)!.metadata;
    assert.deepEqual(inputOf('split'), { parts: 3 });
    assert.deepEqual(inputOf('right'), { of: 4 });
    await assert.rejects(
      client.operations.rerun(id, { inputs: { whole: {}, nobody: {} } }),
      refused(400, /inputs\.whole: names no task[\s\S]*inputs\.nobody: names no task/),
    );
    const unsound = client.operations.rerun(id, { inputs: { right: { of: { $expr: 'nodes.later.result' } } } });
    await assert.rejects(unsound, refused(400, /root\.children\[4\]\.input\.of/));
  });

  test('of commands requires the scope command', async () => {
    const id = await submitBatch([{ name: 'c', kind: 'Command', metadata: { run: 'true' } }]);
    const guarded = await createTestServer({ engine, config: { authRequired: true } });
    guarded.tokens.add('operator', ['operate']);
    guarded.tokens.add('commander', ['operate', 'command']);
    const statusWith = async (token: string): Promise<number> => {
      const headers = { authorization: `Bearer ${token}` };
      return (await guarded.app.inject({ method: 'POST', url: `/v1/runs/${id}/rerun`, headers })).statusCode;
    };
    assert.deepEqual([await statusWith('operator'), await statusWith('commander')], [403, 201]);
    await guarded.app.close();
  });

  test('leaves an address as it was shown with its secrets, and rejects a changed one without them', async () => {
    const to = { webhook: { url: TARGET, headers: { authorization: 'Bearer hunter2' } } };
    const root = {
      mode: 'sequential' as const,
      children: [{ id: 'tell', kind: 'GenericNotification', input: { to, text: 'one' } }],
    };
    const { id } = await client.submitWorkflow({ root });
    const shown = { webhook: { url: TARGET, headers: { authorization: '[redacted]' } } };
    const again = await client.operations.rerun(id, { inputs: { tell: { to: shown, text: 'two' } } });
    const [task] = (await engine.getTree(again.id))!.tree.tasks;
    assert.deepEqual(task!.metadata, { to, text: 'two' });
    const elsewhere = { webhook: { ...shown.webhook, url: 'https://other.example/' } };
    await assert.rejects(
      client.operations.rerun(id, { inputs: { tell: { to: elsewhere, text: 'two' } } }),
      refused(400, /inputs\.tell.*holds \[redacted\]/),
    );
  });
});
