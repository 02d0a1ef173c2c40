/** Workflows over HTTP, against the real engine on a real PostgreSQL. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import type { JsonValue } from '@heddle/base/json';
import { createEngine } from '@heddle/core/engine/engine';
import type { Engine, Report } from '@heddle/core/engine/port';
import type { NewNodeDto } from '../../src/http/wire/new-workflow.ts';
import type {
  ChildrenDto,
  SubmittedWorkflowDto,
  TaskResultDto,
  TreeContainerDto,
  TreeNodeDto,
  TreeTaskDto,
  WorkflowDto,
  WorkflowTreeDto,
} from '../../src/http/wire/workflow.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId, systemRandom } from '@heddle/base/random';
import type { Database } from '@heddle/core/store/database';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { createTestServer, type Problem, type TestServer } from '@heddle/test-support/http/server';

let server: TestServer;
let engine: Engine;
let database: Database;

before(async () => {
  ({ database } = await createTestDatabase());
  engine = createEngine({ database, clock: systemClock, random: systemRandom, log: silentLogger, archiveAfterMs: 0 });
  server = await createTestServer({ engine, database });
});

after(async () => {
  await server.app.close();
  await engine.close();
});

interface Answer<Body> {
  status: number;
  body: Body;
}

/** The response type is asserted by the caller and checked by its assertions. */
async function call<Body>(
  method: 'GET' | 'POST' | 'DELETE',
  url: string,
  payload?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer<Body>> {
  const response = await server.app.inject({
    method,
    url,
    headers,
    ...(payload === undefined ? {} : { payload: payload as object }),
  });
  return { status: response.statusCode, body: JSON.parse(response.body) as Body };
}

let kinds = 0;
/** A separate kind, so that tests do not claim each other's tasks. */
function newKind(): string {
  kinds += 1;
  return `kind-${kinds}`;
}

async function submit(root: NewNodeDto, name?: string): Promise<SubmittedWorkflowDto> {
  const { status, body } = await call<SubmittedWorkflowDto>('POST', '/v1/workflows', { name, root });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

async function treeOf(id: string, query = ''): Promise<WorkflowTreeDto> {
  const { status, body } = await call<WorkflowTreeDto>('GET', `/v1/workflows/${id}${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

/** All nodes by local name; the key of the root is `root`. */
function nodesOf(tree: WorkflowTreeDto): Record<string, TreeNodeDto> {
  const nodes: Record<string, TreeNodeDto> = {};
  const pending: TreeNodeDto[] = [tree.root];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    nodes[node.parent_id === null ? 'root' : (node.local_id ?? node.id)] = node;
    if (node.type === 'container') pending.push(...node.children);
  }
  return nodes;
}

async function statesOf(id: string): Promise<Record<string, string>> {
  return Object.fromEntries(Object.entries(nodesOf(await treeOf(id))).map(([name, { state }]) => [name, state]));
}

/** Ends the ready tasks of the kind; returns their local names. */
async function run(kind: string, report: (localId: string) => Partial<Report> = () => ({})): Promise<string[]> {
  const claimed = await engine.claim({ lanes: [`kind:${kind}`], limit: 1000, holder: 'test' });
  await engine.report(
    claimed.map((task) => ({
      task_id: task.id,
      attempt: task.attempt,
      outcome: 'succeeded',
      ...report(task.local_id!),
    })),
  );
  return claimed.map((task) => task.local_id!).sort();
}

/** Sequence of `first`, two parallel tasks, and `last`. */
function fanOut(kind: string, change: Partial<NewNodeDto> = {}): NewNodeDto {
  return {
    mode: 'sequential',
    children: [
      { id: 'first', kind },
      {
        id: 'middle',
        mode: 'parallel',
        children: [
          { id: 'left', kind, input: { side: 'left' } },
          { id: 'right', kind, name: 'Right side' },
        ],
      },
      { id: 'last', kind },
    ],
    ...change,
  };
}

describe('POST /v1/workflows', () => {
  test('stores a tree, which runs in order and reports its states', async () => {
    const kind = newKind();
    const created = await submit(fanOut(kind), 'fan out');
    assert.deepEqual(
      { ...created, id: null, root_container_id: null, created_at: null, warnings: created.warnings.length },
      {
        id: null,
        name: 'fan out',
        root_container_id: null,
        task_count: 4,
        container_count: 2,
        created_at: null,
        replayed: false,
        warnings: 1,
      },
    );
    assert.equal(created.root_container_id, created.id);

    assert.deepEqual(await statesOf(created.id), {
      root: 'Running',
      first: 'Pending',
      middle: 'Pending',
      left: 'Pending',
      right: 'Pending',
      last: 'Pending',
    });
    assert.deepEqual(await run(kind), ['first']);
    assert.deepEqual(await run(kind), ['left', 'right']);
    assert.deepEqual(await run(kind, () => ({ result: { sum: 2 } })), ['last']);

    const tree = await treeOf(created.id);
    assert.equal(tree.state, 'Succeeded');
    assert.equal(tree.remaining, 0);
    assert.notEqual(tree.ended_at, null);
    const { middle, right } = nodesOf(tree) as { middle: TreeContainerDto; right: TreeTaskDto };
    assert.equal(middle.mode, 'parallel');
    assert.equal(middle.children_omitted, 0);
    assert.deepEqual(middle.counts, {
      children: 2,
      open: 0,
      succeeded: 2,
      failed: 0,
      timed_out: 0,
      partially_failed: 0,
      disabled: 0,
      tolerated: 0,
    });
    assert.equal(right.name, 'Right side');
    assert.equal(right.parent_id, middle.id);
    assert.equal(right.attempt, 1);
    assert.deepEqual(
      tree.root.children.map(({ local_id, position }) => [local_id, position]),
      [
        ['first', 0],
        ['middle', 1],
        ['last', 2],
      ],
    );
  });

  test('a failure that is not tolerated disables the rest of the sequence, with a reason', async () => {
    const kind = newKind();
    const { id } = await submit(fanOut(kind));
    await run(kind, () => ({ outcome: 'failed', reason: 'no route' }));
    const nodes = nodesOf(await treeOf(id));
    assert.deepEqual(await statesOf(id), {
      root: 'Failed',
      first: 'Failed',
      middle: 'Disabled',
      left: 'Disabled',
      right: 'Disabled',
      last: 'Disabled',
    });
    assert.equal(nodes['first']!.reason, 'no route');
    assert.match(nodes['middle']!.reason!, /first/);
    assert.match(nodes['last']!.reason!, /first/);
  });

  test('the UUID of the root makes a repeat change nothing', async () => {
    const kind = newKind();
    const id = newId();
    const root = { ...fanOut(kind), id: id.toUpperCase() } as NewNodeDto;
    const first = await call<SubmittedWorkflowDto>('POST', '/v1/workflows', { root });
    assert.deepEqual([first.status, first.body.id, first.body.replayed], [201, id, false]);
    const second = await call<SubmittedWorkflowDto>('POST', '/v1/workflows', { root });
    assert.deepEqual([second.status, second.body.id, second.body.replayed], [200, id, true]);
    assert.equal(second.body.task_count, 4);
    assert.deepEqual(await run(kind), ['first']);
  });

  test('an idempotency key returns the first response, and rejects another body', async () => {
    const kind = newKind();
    const headers = { 'idempotency-key': newId() };
    const first = await call<SubmittedWorkflowDto>('POST', '/v1/workflows', { root: fanOut(kind) }, headers);
    const second = await call<SubmittedWorkflowDto>('POST', '/v1/workflows', { root: fanOut(kind) }, headers);
    assert.deepEqual([first.status, second.status], [201, 200]);
    assert.equal(second.body.id, first.body.id);
    const other = await call<Problem>('POST', '/v1/workflows', { name: 'other', root: fanOut(kind) }, headers);
    assert.deepEqual([other.status, other.body.code], [422, 'IDEMPOTENCY_MISMATCH']);
  });

  test('returns only the id on request', async () => {
    const { status, body } = await call<object>(
      'POST',
      '/v1/workflows',
      { root: fanOut(newKind()) },
      { prefer: 'return=minimal' },
    );
    assert.equal(status, 201);
    assert.deepEqual(Object.keys(body), ['id']);
  });

  test('reports every fault with its path', async () => {
    const root = {
      mode: 'serial',
      children: [
        { kind: 'a', inputs: {} },
        { mode: 'parallel', children: {} },
      ],
    };
    const { status, body } = await call<Problem>('POST', '/v1/workflows', { root });
    assert.deepEqual([status, body.code], [400, 'VALIDATION_FAILED']);
    const details = body.details.join('\n');
    assert.match(details, /^root\.mode: must be "sequential" or "parallel", not "serial"/m);
    assert.match(details, /^root\.children\[0\]\.inputs: is not a known member; did you mean "input"\?/m);
    assert.match(details, /^root\.children\[1\]\.children: /m);
    const none = await server.app.inject({ method: 'POST', url: '/v1/workflows' });
    assert.equal(none.statusCode, 400);
    const twice = await server.app.inject({
      method: 'POST',
      url: '/v1/workflows',
      headers: { 'content-type': 'application/json' },
      payload: '{"root":{"mode":"parallel","mode":"parallel","children":[]}}',
    });
    assert.match(twice.body, /root\.mode: is given more than once/);
  });

  test('accepts a tree of a thousand levels, and no deeper one', async () => {
    const kind = newKind();
    const nested = (levels: number): NewNodeDto => {
      let node: NewNodeDto = { id: 'deepest', kind };
      for (let level = 1; level < levels; level += 1) node = { mode: 'sequential', children: [node] };
      return node;
    };
    const { id } = await submit(nested(1000));
    assert.deepEqual(await run(kind), ['deepest']);
    const tree = await treeOf(id);
    assert.equal(tree.state, 'Succeeded');
    assert.equal(Object.keys(nodesOf(tree)).length, 1000);
    const deeper = await call<Problem>('POST', '/v1/workflows', { root: nested(1001) });
    assert.equal(deeper.status, 400);
    const bracketed = await call<Problem>('POST', '/v1/workflows', { root: nested(1100) });
    assert.match(bracketed.body.details[0]!, /nested deeper/);
  });
});

describe('reads', () => {
  test('lists only trees, and batches separately, by completion and by state', async () => {
    const kind = newKind();
    const done = await submit({ mode: 'parallel', children: [{ kind, id: 'only' }] }, 'done');
    await run(kind, () => ({ outcome: 'failed', reason: 'x' }));
    const open = await submit(fanOut(kind), 'open');
    const [batchTask] = (await call<{ batch_id: string }[]>('POST', '/task', [{ name: 'b', kind: newKind() }])).body;
    const ids = async (url: string): Promise<string[]> =>
      (await call<WorkflowDto[]>('GET', `${url}${url.includes('?') ? '&' : '?'}page_size=100`)).body.map(
        ({ id }) => id,
      );
    const all = await ids('/v1/workflows');
    assert.ok(all.includes(done.id) && all.includes(open.id) && !all.includes(batchTask!.batch_id));
    assert.ok(all.indexOf(open.id) < all.indexOf(done.id), 'newest first');
    const batches = await ids('/v1/batches');
    assert.ok(batches.includes(batchTask!.batch_id) && !batches.includes(done.id));
    assert.ok(!(await ids('/v1/workflows?open=true')).includes(done.id));
    assert.ok((await ids('/v1/workflows?open=false')).includes(done.id));
    assert.ok((await ids('/v1/workflows?state=Failed')).includes(done.id));
    assert.ok(!(await ids('/v1/workflows?state=Failed')).includes(open.id));
    assert.ok((await ids('/v1/workflows?state=Running')).includes(open.id));
    const bad = await call<Problem>('GET', '/v1/workflows?state=Success');
    assert.deepEqual([bad.status, bad.body.code], [400, 'INVALID_QUERY']);

    const batch = await call<{ id: string; task_count: number }>('GET', `/v1/batches/${open.id}`);
    assert.deepEqual([batch.status, batch.body.task_count], [200, 4]);
    const wrong = await call<Problem>('GET', `/v1/workflows/${batchTask!.batch_id}`);
    assert.equal(wrong.status, 404);
    assert.match(wrong.body.details[0]!, /is a batch; see \/v1\/batches\//);
  });

  test('a part of a tree has the number of omitted nodes', async () => {
    const kind = newKind();
    const { id } = await submit(fanOut(kind));
    const root = await treeOf(id, '?depth=0');
    assert.deepEqual([root.truncated, root.root.children.length, root.root.children_omitted], [true, 0, 3]);
    const one = nodesOf(await treeOf(id, '?depth=1'));
    assert.deepEqual(Object.keys(one).sort(), ['first', 'last', 'middle', 'root']);
    assert.equal((one['middle'] as TreeContainerDto).children_omitted, 2);
    const containers = await treeOf(id, '?tasks=false');
    assert.deepEqual(Object.keys(nodesOf(containers)).sort(), ['middle', 'root']);
    assert.equal(containers.root.children_omitted, 2);
    const whole = await treeOf(id, '?depth=2');
    assert.deepEqual([whole.truncated, Object.keys(whole.root.children).length], [false, 3]);
  });

  test('a large tree is cut at 10,000 nodes; pages of children have the rest', async () => {
    const kind = newKind();
    const children = Array.from({ length: 11_000 }, (_, n) => ({ id: `t${n}`, kind }));
    const { id } = await submit({
      mode: 'sequential',
      children: [
        { id: 'before', kind },
        { id: 'many', mode: 'parallel', children },
        { id: 'after', kind },
      ],
    });
    const tree = await treeOf(id);
    const nodes = nodesOf(tree);
    assert.equal(Object.keys(nodes).length, 10_000);
    assert.ok(nodes['before'] && nodes['after'] && tree.truncated);
    const many = nodes['many'] as TreeContainerDto;
    assert.deepEqual([many.children.length, many.children_omitted], [9996, 1004]);
    assert.deepEqual(
      many.children.slice(0, 3).map((node) => node.local_id),
      ['t0', 't1', 't2'],
    );

    const url = `/v1/workflows/${id}/containers/${many.id}/children`;
    const page = await call<ChildrenDto>('GET', `${url}?page=109&page_size=100`);
    assert.equal(page.status, 200);
    assert.equal(page.body.container.counts.children, 11_000);
    assert.deepEqual(
      page.body.children.map(({ local_id }) => local_id),
      Array.from({ length: 100 }, (_, n) => `t${10_900 + n}`),
    );
    assert.deepEqual((await call<ChildrenDto>('GET', `${url}?page=110&page_size=100`)).body.children, []);
    const pending = await call<ChildrenDto>('GET', `${url}?state=Pending&page=1&page_size=2`);
    assert.deepEqual(
      pending.body.children.map(({ local_id }) => local_id),
      ['t2', 't3'],
    );
    assert.deepEqual((await call<ChildrenDto>('GET', `${url}?state=Failed`)).body.children, []);
    const inState = (state: string) =>
      call<ChildrenDto>('GET', `/v1/workflows/${id}/containers/${id}/children?state=${state}`);
    assert.deepEqual(
      (await inState('Pending')).body.children.map(({ local_id }) => local_id),
      ['before', 'many', 'after'],
    );
    assert.equal((await inState('Success')).status, 400);
    const mixed = await call<ChildrenDto>('GET', `/v1/workflows/${id}/containers/${id}/children?page_size=2`);
    assert.deepEqual(
      mixed.body.children.map(({ type, local_id }) => [type, local_id]),
      [
        ['task', 'before'],
        ['container', 'many'],
      ],
    );
    const unknown = await call<Problem>('GET', `/v1/workflows/${id}/containers/${newId()}/children`);
    assert.equal(unknown.status, 404);
    assert.match(unknown.body.details[0]!, /^container_id:/);
    await call('DELETE', `/v1/workflows/${id}`);
  });

  test('results are paged, of a workflow, of a container, of what precedes a task', async () => {
    const kind = newKind();
    const { id } = await submit(fanOut(kind));
    const data: Record<string, JsonValue> = { first: 1, left: { a: [1] }, right: 'text', last: null };
    for (let round = 0; round < 3; round += 1) await run(kind, (name) => ({ result: data[name]! }));
    const nodes = nodesOf(await treeOf(id));
    const results = async (query: string): Promise<TaskResultDto[]> => {
      const { status, body } = await call<TaskResultDto[]>('GET', `/v1/workflows/${id}/results${query}`);
      assert.equal(status, 200, JSON.stringify(body));
      return body;
    };
    const names = async (query: string): Promise<(string | null)[]> =>
      (await results(query)).map((one) => one.local_id);
    const all = await results('');
    assert.deepEqual(
      all.map((one) => [one.local_id, one.kind, one.state, one.data]),
      ['first', 'last', 'left', 'right'].map((name) => [name, kind, 'Succeeded', data[name]]),
    );
    assert.deepEqual(await names('?page_size=2'), ['first', 'last']);
    assert.deepEqual(await names(`?page_size=2&after=${all[1]!.task_id}`), ['left', 'right']);
    assert.deepEqual(await names(`?page_size=1&after=${all[2]!.task_id}`), ['right']);
    assert.deepEqual(await names(`?after=${all[3]!.task_id}`), []);
    assert.deepEqual(await names(`?container_id=${nodes['middle']!.id}`), ['left', 'right']);
    assert.deepEqual(await names(`?container_id=${id}`), ['first', 'last', 'left', 'right']);
    assert.deepEqual(await names(`?before_task_id=${nodes['last']!.id}`), ['first', 'left', 'right']);
    assert.deepEqual(await names(`?before_task_id=${nodes['first']!.id}`), []);
    for (const after of [newId(), id, nodes['first']!.id.replace(/.$/, (last) => (last === '0' ? '1' : '0')), 'x']) {
      const { status, body } = await call<Problem>('GET', `/v1/workflows/${id}/results?after=${after}`);
      assert.equal(status, 400);
      assert.match(body.details[0]!, /^after: /);
    }
    const elsewhere = `?container_id=${nodes['middle']!.id}&after=${nodes['first']!.id}`;
    assert.equal((await call('GET', `/v1/workflows/${id}/results${elsewhere}`)).status, 400);
    for (const [name, value] of Object.entries(data)) {
      const { status, body } = await call<TaskResultDto>('GET', `/v1/tasks/${nodes[name]!.id}/result`);
      assert.deepEqual(
        [status, body.local_id, body.kind, body.state, body.data],
        [200, name, kind, 'Succeeded', value],
      );
    }
    const both = `?container_id=${id}&before_task_id=${nodes['last']!.id}`;
    assert.equal((await call('GET', `/v1/workflows/${id}/results${both}`)).status, 400);
    assert.equal((await call('GET', `/v1/workflows/${id}/results?container_id=${newId()}`)).status, 404);
    assert.equal((await call('GET', `/v1/workflows/${id}/results?before_task_id=${newId()}`)).status, 404);
    assert.equal((await call('GET', `/v1/workflows/${newId()}/results`)).status, 404);
  });

  test('the result of one task is null until it has one, and 404 if there is no such task', async () => {
    const kind = newKind();
    const { id } = await submit(fanOut(kind));
    const { first } = nodesOf(await treeOf(id));
    const read = (task: string) => call<TaskResultDto | null>('GET', `/v1/tasks/${task}/result`);
    assert.deepEqual([(await read(first!.id)).status, (await read(first!.id)).body], [200, null]);
    await run(kind, () => ({}));
    assert.equal((await read(first!.id)).body, null);
    assert.equal((await read(newId())).status, 404);
    assert.equal((await read(id)).status, 404);
    await call('DELETE', `/v1/workflows/${id}`);
  });

  test('the archive returns the same', async () => {
    const kind = newKind();
    const { id } = await submit(fanOut(kind), 'to be archived');
    for (let round = 0; round < 3; round += 1) await run(kind, (name) => ({ result: name }));
    const { first } = nodesOf(await treeOf(id));
    const urls = [`/v1/workflows/${id}`, `/v1/workflows/${id}?depth=1`, `/v1/workflows/${id}/results`];
    urls.push(`/v1/tasks/${first!.id}/result`);
    urls.push(`/v1/workflows/${id}/containers/${id}/children`);
    const read = async (): Promise<unknown[]> => Promise.all(urls.map(async (url) => (await call('GET', url)).body));
    const live = await read();
    // All work at the end of a tree has been done.
    await database.query({ name: 'test.finalized', text: 'delete from finalization' });
    for (let pass = 0; pass < 20 && !(await engine.getWorkflow(id))!.archived; pass += 1) await engine.retain(100_000);
    assert.equal((await engine.getWorkflow(id))!.archived, true);
    const archived = await read();
    assert.deepEqual(
      [
        { ...(archived[0] as object), archived: false },
        { ...(archived[1] as object), archived: false },
        ...archived.slice(2),
      ],
      live,
    );
    const after = await call<WorkflowDto[]>('GET', '/v1/workflows?state=Succeeded&page_size=100');
    assert.ok(after.body.some((one) => one.id === id && one.archived));
  });
});

test('a workflow that is stored between the two reads is shown', async () => {
  const { id } = await submit({ mode: 'parallel', children: [{ kind: 'late', input: {} }] });
  let looks = 0;
  const late = Object.create(engine, {
    getTree: {
      value: (...args: Parameters<Engine['getTree']>) => {
        looks += 1;
        return looks === 1 ? Promise.resolve(null) : engine.getTree(...args);
      },
    },
  }) as Engine;
  const other = await createTestServer({ engine: late, database });
  try {
    const { statusCode, body } = await other.app.inject(`/v1/workflows/${id}`);
    assert.deepEqual([statusCode, (JSON.parse(body) as WorkflowTreeDto).id, looks], [200, id, 2]);
  } finally {
    await other.app.close();
  }
});
