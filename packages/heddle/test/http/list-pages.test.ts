/** Pages of lists that grow with everything stored: by cursor without bound, by number up to one. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { HeddleClient } from '@heddle/client';
import { createEngine } from '@heddle/core/engine/engine';
import type { Engine } from '@heddle/core/engine/port';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import type { Database } from '@heddle/core/store/database';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { createTestServer, type TestServer } from '@heddle/test-support/http/server';

let server: TestServer;
let engine: Engine;
let database: Database;
let client: HeddleClient;

before(async () => {
  ({ database } = await createTestDatabase());
  engine = createEngine({ database, clock: systemClock, random: systemRandom, log: silentLogger });
  server = await createTestServer({ engine, database });
  client = new HeddleClient({ baseUrl: await server.app.listen({ port: 0, host: '127.0.0.1' }) });
});

after(async () => {
  await server.app.close();
  await engine.close();
});

async function all(
  read: (after: string | undefined) => Promise<{ items: { id: string }[]; next: string | null }>,
): Promise<string[]> {
  const ids: string[] = [];
  let next: string | null | undefined;
  while (next !== null) {
    const page = await read(next ?? undefined);
    ids.push(...page.items.map(({ id }) => id));
    next = page.next;
  }
  return ids;
}

const from = (cursor: string | undefined): { after?: string } => (cursor === undefined ? {} : { after: cursor });

test('the links of tasks and batches lead through all of them, newest first', async () => {
  for (let n = 0; n < 5; n += 1) {
    await client.submit([
      { name: `t${n}`, kind: 'paged' },
      { name: `u${n}`, kind: 'paged' },
    ]);
  }
  const tasks = await all((cursor) => client.pages.tasks({ kind: 'paged', page_size: 3, ...from(cursor) }));
  assert.equal(tasks.length, 10);
  assert.deepEqual(tasks, [...new Set(tasks)].sort().reverse());
  const pending = await all((cursor) => client.pages.tasks({ status: 'Pending', page_size: 4, ...from(cursor) }));
  assert.deepEqual(pending, tasks);
  const batches = await all((cursor) => client.pages.batches({ open: true, page_size: 2, ...from(cursor) }));
  assert.equal(batches.length, 5);
  const [batch] = batches;
  const ofBatch = await all((cursor) => client.pages.tasks({ batch_id: batch!, page_size: 1, ...from(cursor) }));
  assert.deepEqual(ofBatch, tasks.slice(0, 2));
});

test('the links of workflows lead through all of them', async () => {
  for (let n = 0; n < 3; n += 1) {
    await client.submitWorkflow({ root: { mode: 'sequential', children: [{ kind: 'leaf' }] } });
  }
  assert.equal((await all((cursor) => client.pages.workflows({ page_size: 1, ...from(cursor) }))).length, 3);
  assert.equal(
    (await all((cursor) => client.pages.workflows({ page_size: 2, open: true, ...from(cursor) }))).length,
    3,
  );
  assert.deepEqual(await all((cursor) => client.pages.workflows({ state: 'Failed', ...from(cursor) })), []);
});

test('a link keeps the filters, and replaces the number of the page', async () => {
  const response = await server.app.inject({ method: 'GET', url: '/task?kind=paged&page=1&page_size=2&name=t' });
  const [, parameters] = /^<\?([^>]+)>; rel="next"$/.exec(String(response.headers['link']))!;
  const { after: cursor, ...kept } = Object.fromEntries(new URLSearchParams(parameters));
  assert.deepEqual(kept, { kind: 'paged', name: 't', page_size: '2' });
  assert.equal(cursor, response.json<{ id: string }[]>().at(-1)!.id);
});

test('a page number leads 100,000 items deep, and never comes with a cursor', async () => {
  await database.query({
    name: 'test.fill',
    text: `insert into archive_task (id, workflow_id, kind_id, state, attempt, timeout_secs, created_at, updated_at, ended_at,
        name, metadata)
      select gen_random_uuid(), gen_random_uuid(), 1, 10, 1, 60, now(), now(), now(), 'archived', '{}'
      from generate_series(1, 100000)`,
  });
  assert.equal((await client.listTasks({ page: 1000, page_size: 100 })).length, 13);
  await assert.rejects(client.listTasks({ page: 1001, page_size: 100 }), {
    status: 400,
    details: [
      'page: at most 100,000 items can be skipped; narrow the list by filters, or follow the Link header of each page, which has after',
    ],
  });
  assert.deepEqual(await client.listTasks({ page: 1001, page_size: 100, kind: 'leaf' }), []);
  await assert.rejects(client.listTasks({ page: 1, after: '01a222c8-764c-7000-9fcb-42b805089f6b' }), {
    status: 400,
    details: ['page: cannot be combined with after; use one of them'],
  });
});

test('a page that examined 20,000 tasks without a match has a link to the next ones', async () => {
  const first = await client.pages.tasks({ name: 'no such name' });
  assert.deepEqual(first.items, []);
  assert.notEqual(first.next, null);
  const found = await all((cursor) => client.pages.tasks({ name: 'u3', ...from(cursor) }));
  assert.equal(found.length, 1);
});
