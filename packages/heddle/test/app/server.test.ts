import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, test } from 'node:test';

import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase, startTestServer } from '@heddle/test-support/postgres';
import { heddle, HeddleProcess, request } from '@heddle/test-support/app/heddle-process';

const NEWER: { name: string; text: string } = {
  name: 'test.newer',
  text: `insert into heddle.schema_migration select max(version) + 1, '9999_future.sql', 'x' from heddle.schema_migration`,
};

const running = new Set<HeddleProcess>();
after(() => running.forEach(({ child }) => child.kill('SIGKILL')));

/** Settings that let webhooks reach a target of this test. */
function environmentOf(database: { url: string }): Record<string, string> {
  return {
    DATABASE_URL: database.url,
    PORT: '0',
    POOL_MAX_SIZE: '4',
    POOL_MIN_IDLE: '1',
    HEDDLE_DATA_DIR: '/nonexistent/heddle',
    HEDDLE_ALLOWED_WEBHOOK_CIDRS: '127.0.0.1',
  };
}

function server(environment: Record<string, string>, ...flags: string[]): HeddleProcess {
  const started = new HeddleProcess(['server', '--json', ...flags], environment);
  running.add(started);
  void started.exited.then(() => running.delete(started));
  return started;
}

/** A target that counts its calls by task and finishes each task through its handle. */
async function finishingTarget(): Promise<{ url: string; calls: Map<string, number>; server: Server }> {
  const calls = new Map<string, number>();
  const target = createServer((incoming, answer) => {
    const task = String(incoming.headers['x-task-id']);
    calls.set(task, (calls.get(task) ?? 0) + 1);
    const handle = new URL(incoming.url!, 'http://target').searchParams.get('handle')!;
    answer.end('{}');
    const headers = { 'content-type': 'application/json', connection: 'close' };
    void fetch(handle, { method: 'PATCH', headers, body: '{"status":"Success"}' });
  }).listen(0, '127.0.0.1');
  await once(target, 'listening');
  return { url: `http://127.0.0.1:${(target.address() as AddressInfo).port}/`, calls, server: target };
}

describe('heddle server', () => {
  test('reports missing settings by name', async () => {
    const none = await heddle(['server'], { PORT: '0' });
    assert.equal(none.code, 2);
    assert.match(none.stderr, /DATABASE_URL: is required by `heddle server`/);
    const beyond = await heddle(['server'], { PORT: '0', HOST: '0.0.0.0', DATABASE_URL: 'postgres://localhost/x' });
    assert.equal(beyond.code, 2);
    assert.match(beyond.stderr, /HOST_URL: is required.*HOST=0\.0\.0\.0/);
  });

  test('reports an unavailable database without its password', async () => {
    const url = 'postgres://heddle:hunter2@127.0.0.1:1/heddle';
    const { code, stderr } = await heddle(['server'], { PORT: '0', DATABASE_URL: url });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /The database postgres:\/\/heddle:redacted@127\.0\.0\.1:1\/heddle is unreachable: .*ECONNREFUSED/,
    );
    assert.doesNotMatch(stderr, /hunter2/);
  });

  test('rejects a database that is older or newer than the code', async () => {
    const database = await createTestDatabase({ empty: true });
    const environment = environmentOf(database);
    const old = server(environment);
    assert.equal(await old.exited, 1);
    assert.match(old.stderr, /has no Heddle schema yet.*run `heddle migrate`, or start with --migrate/);
    assert.equal((await heddle(['migrate', '--check'], environment)).code, 1);

    assert.equal((await heddle(['migrate'], environment)).code, 0);
    assert.equal((await heddle(['migrate', '--check'], environment)).code, 0);
    const fits = server(environment);
    await fits.ready();
    assert.equal(await fits.end('SIGTERM'), 0, fits.stderr);

    await database.database.query(NEWER);
    const newer = server(environment);
    assert.equal(await newer.exited, 1);
    assert.match(newer.stderr, /newer than this Heddle/);
    await database.drop();
  });

  test('responds with 503 and still stops cleanly while its database is unavailable', async () => {
    const postgres = await startTestServer();
    const run = server({ ...environmentOf({ url: postgres.url }), POOL_TIMEOUT_SECS: '5' }, '--migrate');
    const { url } = await run.ready();
    await postgres.halt();
    await eventually(async () => (await request(url, 'GET', '/ready')).status === 503, 'the server is not ready');
    assert.equal((await request(url, 'GET', '/health')).status, 503);
    assert.equal((await request(url, 'GET', '/live')).status, 200);
    assert.equal(await run.end('SIGTERM'), 0, run.stderr);
    await postgres.stop();
  });

  test('servers share a port with a setting, and the others keep serving when one stops', async () => {
    const database = await createTestDatabase();
    const environment = { ...environmentOf(database), HEDDLE_SHARE_PORT: '1' };
    const first = server(environment);
    const { url } = await first.ready();
    const { port } = new URL(url);
    const refused = server({ ...environment, HEDDLE_SHARE_PORT: '0', PORT: port });
    assert.equal(await refused.exited, 1);
    assert.match(refused.stderr, /is in use by another program/);
    const second = server({ ...environment, PORT: port });
    assert.equal((await second.ready()).url, url);
    assert.equal(await first.end('SIGTERM'), 0, first.stderr);
    const answers = await Promise.all(Array.from({ length: 8 }, () => request(url, 'GET', '/live')));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    assert.equal(await second.end('SIGTERM'), 0, second.stderr);
    await database.drop();
  });

  test('heddle up migrates by itself and starts no database beside the given one', async () => {
    const database = await createTestDatabase({ empty: true });
    const run = new HeddleProcess(['up', '--json'], { ...environmentOf(database), HEDDLE_EXAMPLES: '0' });
    running.add(run);
    const { url } = await run.ready();
    await eventually(async () => (await request(url, 'GET', '/ready')).status === 200, 'it is ready');
    assert.doesNotMatch(run.stderr, /embedded database/);
    assert.equal(await run.end('SIGINT'), 0, run.stderr);
    await database.drop();
  });

  test('two of them share the work of one database', async () => {
    const database = await createTestDatabase({ empty: true });
    const environment = environmentOf(database);
    const target = await finishingTarget();
    const servers = [server(environment, '--migrate'), server(environment, '--migrate')];
    const [first, second] = await Promise.all([servers[0]!.ready(), servers[1]!.ready()]);
    const on_start = { kind: 'Webhook', params: { url: target.url, verb: 'Post' } };
    const batch = (from: number) =>
      Array.from({ length: 100 }, (_, at) => ({ name: `task ${from + at}`, kind: 'shared', on_start }));
    for (const [at, { url }] of [first, second].entries()) {
      assert.equal((await request(url, 'POST', '/task', { body: batch(at * 100) })).status, 201);
    }
    const successes = async (url: string): Promise<number> => {
      const pages = await Promise.all(
        [0, 1, 2].map((page) => request(url, 'GET', `/task?status=Success&page_size=100&page=${page}`)),
      );
      return pages.reduce((sum, { json }) => sum + (json as unknown[]).length, 0);
    };
    await eventually(async () => (await successes(second.url)) === 200, 'all tasks succeeded', 60_000);
    assert.equal(await successes(first.url), 200);
    assert.equal(target.calls.size, 200);
    assert.ok(
      [...target.calls.values()].every((calls) => calls === 1),
      'each start was delivered once',
    );
    for (const each of servers) assert.equal(await each.end('SIGTERM'), 0, each.stderr);
    target.server.close();
    await database.drop();
  });
});
