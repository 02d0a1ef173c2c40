/** Operations on workflows and their event streams over HTTP, against the real engine on a real PostgreSQL. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Compile } from 'typebox/compile';
import type { TSchema } from 'typebox';

import { HeddleApiError, HeddleClient, type WorkflowEvent } from '@heddle/client';
import { parseNode } from '@heddle/core/domain/parse/workflow';
import { createEngine } from '@heddle/core/engine/engine';
import type { Engine, Report } from '@heddle/core/engine/port';
import type { NewContainerDto, NewNodeDto } from '../../src/http/wire/new-workflow.ts';
import type { TreeContainerDto, TreeNodeDto, TreeTaskDto } from '../../src/http/wire/workflow.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId, systemRandom } from '@heddle/base/random';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { createTestServer, type TestServer } from '@heddle/test-support/http/server';

let server: TestServer;
let engine: Engine;
let client: HeddleClient;

before(async () => {
  const { database } = await createTestDatabase();
  engine = createEngine({ database, clock: systemClock, random: systemRandom, log: silentLogger });
  server = await createTestServer({ engine, database });
  const baseUrl = await server.app.listen({ port: 0, host: '127.0.0.1' });
  client = new HeddleClient({ baseUrl });
});

after(async () => {
  await server.app.close();
  await engine.close();
});

let kinds = 0;
/** A separate kind, so that tests do not claim each other's tasks. */
function newKind(): string {
  kinds += 1;
  return `kind-${kinds}`;
}

/** Sequence of `first`, two parallel tasks, and `last`. */
function fanOut(kind: string): NewContainerDto {
  const middle: NewNodeDto = {
    id: 'middle',
    mode: 'parallel',
    children: [
      { id: 'left', kind },
      { id: 'right', kind },
    ],
  };
  return { mode: 'sequential', children: [{ id: 'first', kind }, middle, { id: 'last', kind }] };
}

async function nodesOf(id: string): Promise<Record<string, TreeNodeDto>> {
  const nodes: Record<string, TreeNodeDto> = {};
  const pending: TreeNodeDto[] = [(await client.getWorkflow(id)).root];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    nodes[node.parent_id === null ? 'root' : (node.local_id ?? node.id)] = node;
    if (node.type === 'container') pending.push(...node.children);
  }
  return nodes;
}

async function statesOf(id: string): Promise<string> {
  const nodes = await nodesOf(id);
  return ['root', 'first', 'left', 'right', 'last'].map((name) => nodes[name]!.state).join(' ');
}

async function run(kind: string, report: Partial<Report> = {}): Promise<string[]> {
  const claimed = await engine.claim({ lanes: [`kind:${kind}`], limit: 100, holder: 'test' });
  await engine.report(claimed.map(({ id, attempt }) => ({ task_id: id, attempt, outcome: 'succeeded', ...report })));
  return claimed.map(({ local_id }) => local_id!).sort();
}

function refused(status: number, what: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof HeddleApiError);
    assert.equal(error.status, status);
    assert.match(error.message, what);
    return true;
  };
}

describe('operations on workflows', () => {
  test('pause holds back ready tasks and those that become ready; resume releases them', async () => {
    const kind = newKind();
    const { id } = await client.submitWorkflow({ root: fanOut(kind) });
    assert.equal(await client.pauseWorkflow(id), 4);
    assert.deepEqual(await run(kind), []);
    const paused = await client.getWorkflow(id);
    assert.deepEqual([paused.paused, paused.state], [true, 'Running']);
    assert.equal((paused.root.children[0] as TreeTaskDto).status, 'Paused');
    assert.equal(await client.resumeWorkflow(id), 4);
    assert.equal((await client.getWorkflow(id)).paused, false);
    assert.deepEqual(await run(kind), ['first']);
    assert.deepEqual(await run(kind), ['left', 'right']);
    assert.deepEqual(await run(kind), ['last']);
    assert.equal((await client.getWorkflow(id)).state, 'Succeeded');
  });

  test('cancel ends the tree; retry reopens canceled tasks and keeps earlier successes', async () => {
    const kind = newKind();
    const { id } = await client.submitWorkflow({ root: fanOut(kind) });
    await run(kind);
    await assert.rejects(client.retryWorkflow(id), refused(409, /have not ended/));
    assert.equal(await client.cancelWorkflow(id), 3);
    assert.equal(await statesOf(id), 'Failed Succeeded Failed Failed Failed');
    assert.equal(await client.cancelWorkflow(id), 0);
    assert.equal(await client.retryWorkflow(id), 3);
    assert.equal(await statesOf(id), 'Running Succeeded Pending Pending Pending');
    await run(kind);
    await run(kind);
    assert.equal(await statesOf(id), 'Succeeded Succeeded Succeeded Succeeded Succeeded');
    assert.equal(await client.retryWorkflow(id), 0);
  });

  test('DELETE cancels, too; so does the batch of the same id', async () => {
    const first = await client.submitWorkflow({ root: fanOut(newKind()) });
    const deleted = await server.app.inject({ method: 'DELETE', url: `/v1/workflows/${first.id}` });
    assert.deepEqual(deleted.json(), { canceled: 4 });
    const second = await client.submitWorkflow({ root: fanOut(newKind()) });
    assert.equal(await client.cancelBatch(second.id), 4);
    assert.equal((await client.getWorkflow(second.id)).state, 'Failed');
  });

  test('missing workflows and batches are not found', async () => {
    const { batchId } = await client.submit([{ name: 'b', kind: newKind() }]);
    for (const verb of ['cancelWorkflow', 'pauseWorkflow', 'resumeWorkflow', 'retryWorkflow', 'getWorkflow'] as const) {
      await assert.rejects(client[verb](newId()), refused(404, /workflow_id: no workflow has the id/));
      await assert.rejects(client[verb](batchId!), refused(404, /workflow_id: is a batch/));
    }
    assert.equal((await client.getBatch(batchId!)).remaining, 1);
  });

  test('each route requires its scope', async () => {
    const guarded = await createTestServer({ engine, config: { authRequired: true } });
    for (const scope of ['read', 'submit', 'operate'] as const) guarded.tokens.add(`hdl_${scope}`, [scope]);
    const id = newId();
    const at = `/v1/workflows/${id}`;
    const routes = [
      ['POST', '/v1/workflows', 'submit'],
      ['GET', '/v1/workflows', 'read'],
      ['GET', at, 'read'],
      ['GET', `${at}/containers/${id}/children`, 'read'],
      ['GET', `${at}/containers/${id}/explain`, 'read'],
      ['GET', `${at}/results`, 'read'],
      ['GET', `${at}/events`, 'read'],
      ['DELETE', at, 'operate'],
      ['POST', `${at}/cancel`, 'operate'],
      ['POST', `${at}/pause`, 'operate'],
      ['POST', `${at}/resume`, 'operate'],
      ['POST', `${at}/retry`, 'operate'],
    ] as const;
    for (const [method, url, needed] of routes) {
      for (const given of ['read', 'submit', 'operate'] as const) {
        const { statusCode } = await guarded.app.inject({
          method,
          url,
          headers: { authorization: `Bearer hdl_${given}` },
        });
        const admitted = given === needed || (given === 'operate' && needed === 'read');
        assert.equal(statusCode !== 403, admitted, `${method} ${url} with ${given}: ${statusCode}`);
      }
      assert.equal((await guarded.app.inject({ method, url })).statusCode, 401, url);
    }
    await guarded.app.close();
  });
});

describe('following a workflow', () => {
  test('sends all nodes first, then changed ones with the containers above them, then the end', async () => {
    const kind = newKind();
    const { id } = await client.submitWorkflow({ root: fanOut(kind) });
    const events: WorkflowEvent[] = [];
    const followed = (async () => {
      for await (const event of client.watchWorkflow(id)) events.push(event);
    })();
    await eventually(() => events.length === 1, 'the first event');
    const [{ containers, tasks, workflow }] = events as [WorkflowEvent];
    assert.deepEqual([containers.length, tasks.length, workflow.state], [2, 4, 'Running']);
    await run(kind);
    const last = (name: string): { state: string } | undefined =>
      events.flatMap((event) => [...event.containers, ...event.tasks]).findLast((node) => node.local_id === name);
    await eventually(() => last('middle')?.state === 'Running', 'the start of the second is reported');
    assert.deepEqual([last('first')!.state, last('left')!.state], ['Succeeded', 'Pending']);
    await run(kind);
    await run(kind);
    await followed;
    const end = events.at(-1)!;
    assert.deepEqual([end.type, end.workflow.state, end.tasks.length], ['end', 'Succeeded', 0]);
    for (const name of ['first', 'middle', 'left', 'right', 'last']) assert.equal(last(name)!.state, 'Succeeded', name);
    const roots = events.flatMap((event) => event.containers).filter((container) => container.id === id);
    assert.deepEqual([roots.at(-1)!.state, roots.at(-1)!.counts.succeeded], ['Succeeded', 3]);
  });

  test('a large tree is sent in parts, with none missing, containers first', async () => {
    const kind = newKind();
    const inner = Array.from({ length: 1200 }, (): NewNodeDto => ({ mode: 'parallel', children: [{ kind }] }));
    const { id } = await client.submitWorkflow({ root: { mode: 'parallel', children: inner } });
    await client.cancelWorkflow(id);
    const known = new Set<string>();
    let tasks = 0;
    for await (const event of client.watchWorkflow(id)) {
      assert.ok(event.containers.length + event.tasks.length <= 1000);
      for (const container of event.containers) known.add(container.id);
      for (const task of event.tasks) assert.ok(known.has(task.parent_id!), 'its container was reported');
      tasks += event.tasks.length;
    }
    assert.deepEqual([known.size, tasks], [1201, 1200]);
  });

  test('created nodes are sent with their generator; an expansion is sent as it grows', async () => {
    const kind = newKind();
    const { id } = await client.submitWorkflow({
      root: {
        mode: 'sequential',
        children: [
          {
            mode: 'parallel',
            children: [
              { id: 'make', kind, generator: true },
              { id: 'pool', mode: 'parallel', children: [] },
            ],
          },
          { id: 'sum', kind },
        ],
      },
    });
    const [claimed] = await engine.claim({ lanes: [`kind:${kind}`], limit: 1, holder: 'test' });
    await engine.report([
      { task_id: claimed!.id, attempt: claimed!.attempt, outcome: 'succeeded', expected_created: 2 },
    ]);
    const create = async (name: string): Promise<void> => {
      const parsed = parseNode({ id: name, kind }, newId);
      assert.ok(parsed.ok);
      const results = await engine.createNodes([
        { generator_id: claimed!.id, attempt: 1, node: parsed.node, parent: 'pool' },
      ]);
      assert.deepEqual(results, [{ result: 'created' }]);
    };
    await create('w1');
    const expanding = await nodesOf(id);
    const make = expanding['make'] as TreeTaskDto;
    assert.deepEqual(
      [make.state, make.status, make.expansion],
      ['PendingTaskCreation', 'Running', { expected: 2, created: 1 }],
    );
    assert.equal((expanding['w1'] as TreeTaskDto).generator_id, make.id);
    assert.equal((expanding['pool'] as TreeContainerDto).open_generators, 1);
    const explained = await client.explainTask(make.id);
    assert.match(explained.summary, /announced 2 nodes, of which 1 exists/);
    assert.deepEqual(explained.obstacles, [{ type: 'expanding', expected: 2, created: 1 }]);
    const made = [expanding['w1']!.id];
    assert.deepEqual(explained.expansion, { expected: 2, created: 1, missing: 1, created_ids: made, dead_letters: [] });
    assert.equal((await client.explainTask(made[0]!)).expansion, null);

    const events: WorkflowEvent[] = [];
    const followed = (async () => {
      for await (const event of client.watchWorkflow(id)) events.push(event);
    })();
    await eventually(() => events.length === 1, 'the first event');
    await create('w2');
    await engine.completeGenerators(100);
    const told = (name: string): TreeTaskDto | undefined =>
      events.flatMap((event) => event.tasks).findLast((task) => task.local_id === name);
    await eventually(() => told('w2') !== undefined && told('make')?.state === 'Succeeded', 'both are reported');
    assert.deepEqual(told('make')!.expansion, { expected: 2, created: 2 });
    await eventually(async () => (await run(kind)).includes('sum'), 'the sum runs last');
    await followed;
    assert.equal(events.at(-1)!.workflow.task_count, 4);
  });
});

describe('explaining', () => {
  test('a task of a sequence reports which sequence has not reached it, and what precedes it', async () => {
    const kind = newKind();
    const { id } = await client.submitWorkflow({ root: { ...fanOut(kind), id: 'steps' } });
    const nodes = await nodesOf(id);
    const last = await client.explainTask(nodes['last']!.id);
    assert.equal(last.summary, 'It waits in the sequence "steps" (running) until "first", "middle" have ended.');
    assert.deepEqual(last.obstacles, [
      { type: 'sequence', container: { id, local_id: 'steps', state: 'Running' }, before: ['first', 'middle'] },
    ]);
    // Its own container waits: what precedes that is reported.
    const left = await client.explainTask(nodes['left']!.id);
    assert.deepEqual(left.obstacles, [
      { type: 'sequence', container: { id, local_id: 'steps', state: 'Running' }, before: ['first'] },
    ]);
    await run(kind);
    assert.deepEqual(
      (await client.explainTask(nodes['left']!.id)).obstacles.map(({ type }) => type),
      ['queued'],
    );
    await client.pauseWorkflow(id);
    const paused = await client.explainTask(nodes['last']!.id);
    assert.deepEqual(
      paused.obstacles.map(({ type }) => type),
      ['paused', 'sequence'],
    );
    await client.cancelWorkflow(id);
    assert.match((await client.explainTask(nodes['last']!.id)).summary, /^It has ended \(canceled\)/);
  });
});

describe('explaining a container', () => {
  test('reports preceding nodes, unfinished children, generators that may add more, and how it ended', async () => {
    const kind = newKind();
    const root: NewContainerDto = {
      mode: 'sequential',
      children: [
        {
          id: 'grow',
          mode: 'parallel',
          children: [
            { id: 'make', kind, generator: true },
            { id: 'parts', mode: 'parallel', children: [] },
          ],
        },
        { id: 'after', mode: 'parallel', children: [{ id: 'sum', kind }] },
      ],
    };
    const { id } = await client.submitWorkflow({ root });
    const nodes = await nodesOf(id);
    const explained = (name: string) => client.explainContainer(id, nodes[name]!.id);

    const whole = await client.explainContainer(id, id);
    assert.equal(whole.summary, 'It has come to "grow" (running); 1 node comes after that.');
    assert.deepEqual(whole.obstacles, [
      {
        type: 'children',
        children: [{ type: 'container', id: nodes['grow']!.id, name: 'grow', state: 'Running' }],
        open: 2,
      },
    ]);
    const after = await explained('after');
    assert.equal(after.container.state, 'Pending');
    assert.equal(after.summary, 'It waits in the root sequence (running) until "grow" has ended.');
    assert.deepEqual(after.obstacles, [
      { type: 'sequence', container: { id, local_id: null, state: 'Running' }, before: ['grow'] },
    ]);
    const grow = await explained('grow');
    assert.equal(grow.summary, 'It waits for 2 nodes to end: "make" (pending), "parts" (running).');
    const parts = await explained('parts');
    assert.equal(parts.summary, 'It stays open for 1 generator that may still add children: "make" (pending).');
    assert.deepEqual(parts.obstacles, [
      { type: 'generators', generators: [{ id: nodes['make']!.id, name: 'make', state: 'Pending' }], total: 1 },
    ]);

    await client.pauseWorkflow(id);
    assert.equal((await explained('parts')).summary, 'Its workflow is paused; resume it to continue.');
    await client.resumeWorkflow(id);
    await client.cancelWorkflow(id);
    const over = await explained('grow');
    assert.match(over.summary, /^It has ended \(partially_failed\)/);
    assert.deepEqual(over.obstacles, []);
  });

  test('an unknown container of the workflow is not found', async () => {
    const { id } = await client.submitWorkflow({ root: fanOut(newKind()) });
    const nodes = await nodesOf(id);
    const fault = async (workflow: string, container: string): Promise<string> => {
      const failure = await client.explainContainer(workflow, container).catch((error: unknown) => error);
      assert.ok(failure instanceof HeddleApiError);
      assert.equal(failure.status, 404);
      return failure.message;
    };
    assert.match(await fault(id, nodes['first']!.id), /has no container/);
    assert.match(await fault(nodes['middle']!.id, nodes['middle']!.id), /No such workflow/);
  });
});

describe('the API description', () => {
  test('matches real responses and requests', async () => {
    const kind = newKind();
    const document = await client.openapi();
    const paths = document['paths'] as Record<string, Record<string, Operation>>;
    const { components } = document;
    const body = { name: 'described', root: fanOut(kind) };
    const { id } = await client.submitWorkflow(body);
    await run(kind, { result: { a: 1 } });
    const at = `/v1/workflows/${id}`;
    const answers: [method: 'GET' | 'POST' | 'DELETE', path: string, url: string, payload?: object][] = [
      ['POST', '/v1/workflows', '/v1/workflows', body],
      ['POST', '/v1/workflows', '/v1/workflows', { root: {} }],
      ['GET', '/v1/workflows', '/v1/workflows?open=true'],
      ['GET', '/v1/workflows/{workflow_id}', at],
      ['GET', '/v1/workflows/{workflow_id}', `/v1/workflows/${newId()}`],
      ['GET', '/v1/workflows/{workflow_id}/containers/{container_id}/children', `${at}/containers/${id}/children`],
      ['GET', '/v1/workflows/{workflow_id}/containers/{container_id}/explain', `${at}/containers/${id}/explain`],
      ['GET', '/v1/workflows/{workflow_id}/results', `${at}/results`],
      ['POST', '/v1/workflows/{workflow_id}/pause', `${at}/pause`],
      ['POST', '/v1/workflows/{workflow_id}/resume', `${at}/resume`],
      ['POST', '/v1/workflows/{workflow_id}/retry', `${at}/retry`],
      ['DELETE', '/v1/workflows/{workflow_id}', at],
    ];
    for (const [method, path, url, payload] of answers) {
      const response = await server.app.inject({ method, url, ...(payload === undefined ? {} : { payload }) });
      const operation = paths[path]![method.toLowerCase()]!;
      const type = String(response.headers['content-type']).split(';')[0]!;
      const schema = operation.responses[String(response.statusCode)]?.content?.[type]?.schema;
      assert.ok(schema, `${method} ${url} ${response.statusCode} ${type} is described`);
      const validator = Compile({ ...schema, components } as TSchema);
      assert.ok(
        validator.Check(response.json()),
        `${method} ${url}: ${JSON.stringify(validator.Errors(response.json()))}`,
      );
    }
    const request = paths['/v1/workflows']!['post']!.requestBody!.content['application/json']!.schema;
    const validator = Compile({ ...request, components } as TSchema);
    assert.ok(validator.Check(body));
    assert.ok(!validator.Check({ root: { mode: 'parallel', children: [{ mode: 'parallel', children: [{}] }] } }));
  });
});

interface Operation {
  requestBody?: { content: Record<string, { schema: TSchema }> };
  responses: Record<string, { content?: Record<string, { schema: TSchema }> }>;
}
