/** Expressions and branches over HTTP, against the real engine on a real PostgreSQL. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { createEngine } from '@heddle/core/engine/engine';
import type { Engine } from '@heddle/core/engine/port';
import { createJobs } from '@heddle/core/engine/schedule/jobs';
import { openQueue } from '@heddle/core/queue/open';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId, systemRandom } from '@heddle/base/random';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { createTestServer, type TestServer } from '@heddle/test-support/http/server';

let server: TestServer;
let engine: Engine;
let closeQueue: () => Promise<void>;

before(async () => {
  const { database } = await createTestDatabase();
  const common = { clock: systemClock, random: systemRandom, log: silentLogger };
  engine = createEngine({ database, ...common });
  const { queue } = await openQueue({ url: 'postgres', database, ...common });
  closeQueue = () => queue.close();
  const jobs = createJobs({ database, queue, log: silentLogger, newId, now: () => null });
  server = await createTestServer({ engine, database, jobs });
});

after(async () => {
  await server.app.close();
  await engine.close();
  await closeQueue();
});

/** The members of the responses that these tests check. */
interface Body {
  id: string;
  details: string[];
  tasks: { id: string; input: object }[];
  task: { metadata: object };
  nodes: { result: string; reason: string }[];
  state: string;
  root: { children: { state: string }[] };
}

async function post(url: string, payload: object): Promise<{ status: number; body: Body }> {
  const answer = await server.app.inject({ method: 'POST', url, payload });
  return { status: answer.statusCode, body: answer.json() };
}

async function get(url: string): Promise<Body> {
  return (await server.app.inject({ method: 'GET', url })).json();
}

async function next(kind: string): Promise<Body['tasks'][number] | undefined> {
  const { body } = await post('/v1/work/claim', { kinds: [kind], max: 1 });
  return body.tasks[0];
}

const BAD = {
  mode: 'sequential',
  children: [
    { kind: 'a', input: { list: [{ $expr: 'nodes.b.result' }] } },
    { id: 'b', kind: 'b' },
  ],
};

describe('data flow over HTTP', { concurrency: false }, () => {
  test('faults are rejected with their field, by workflows and jobs, and do not affect others', async () => {
    const good = { root: { mode: 'sequential', children: [{ kind: 'good' }] } };
    const answers = await Promise.all([
      post('/v1/workflows', good),
      post('/v1/workflows', { root: BAD }),
      post('/v1/workflows', good),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 400, 201],
    );
    assert.match(
      answers[1].body.details[0]!,
      /^root\.children\[0\]\.input\.list\[0\]\.\$expr: the node "b" does not precede this task/,
    );
    const job = await post('/v1/jobs', { name: 'nightly', cron: '0 0 * * *', workflow: { root: BAD } });
    assert.equal(job.status, 400);
    assert.match(job.body.details[0]!, /^workflow\.root\.children\[0\]\.input\.list\[0\]\.\$expr: /);
  });

  test('pull workers get values, disable branches, and learn why a child was rejected', async () => {
    const root = {
      mode: 'sequential',
      children: [
        { id: 'scan', kind: 'scan' },
        { id: 'use', kind: 'use', generator: true, input: { n: { $expr: 'nodes.scan.result.n + 1' } } },
        { id: 'skipped', kind: 'skipped' },
        { id: 'last', kind: 'last' },
      ],
    };
    const { body: workflow } = await post('/v1/workflows', { root });
    const scan = (await next('scan'))!;
    await post(`/v1/work/${scan.id}/complete`, { attempt: 1, result: { n: 4 } });
    const use = (await next('use'))!;
    assert.deepEqual(use.input, { n: 5 });
    const read = await get(`/v1/tasks/${use.id}/explain`);
    assert.deepEqual(read.task.metadata, { n: { $expr: 'nodes.scan.result.n + 1' } });
    const made = await post(`/v1/work/${use.id}/children`, {
      attempt: 1,
      nodes: [{ kind: 'made', input: { x: { $expr: 'nodes.' } } }],
    });
    assert.equal(made.body.nodes[0]!.result, 'rejected');
    assert.match(made.body.nodes[0]!.reason, /^task\.input\.x\.\$expr: Expected IDENTIFIER/);
    const done = await post(`/v1/work/${use.id}/complete`, { attempt: 1, disable: ['skipped'] });
    assert.equal(done.status, 200);
    assert.equal(await next('skipped'), undefined);
    const last = (await next('last'))!;
    await post(`/v1/work/${last.id}/complete`, { attempt: 1 });
    const tree = await get(`/v1/workflows/${workflow.id}`);
    assert.equal(tree.state, 'Succeeded');
    const states = tree.root.children.map(({ state }) => state);
    assert.deepEqual(states, ['Succeeded', 'Succeeded', 'Disabled', 'Succeeded']);
  });
});
