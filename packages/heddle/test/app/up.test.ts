import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';

import { VERSION } from '../../src/app/package.ts';
import { eventually } from '@heddle/test-support/eventually';
import { DataDirectory, heddle, request, submit } from '@heddle/test-support/app/heddle-process';

const directories: DataDirectory[] = [];
after(() => Promise.all(directories.map((directory) => directory.dispose())));

function dataDirectory(directory = new DataDirectory()): DataDirectory {
  directories.push(directory);
  return directory;
}

/** Its database is complete already. */
function preparedDirectory(): DataDirectory {
  return dataDirectory(DataDirectory.prepared());
}

async function statusOf(base: string, id: string): Promise<number> {
  return (await request(base, 'GET', `/task/${id}`)).status;
}

/** The process ID of the database server of a data directory; undefined while there is none. */
function postmasterOf(dataDir: string): number | undefined {
  const path = join(dataDir, 'cluster', 'postmaster.pid');
  const pid = existsSync(path) ? Number.parseInt(readFileSync(path, 'utf8'), 10) : Number.NaN;
  return Number.isNaN(pid) ? undefined : pid;
}

/** Submits until the connection breaks, as it does when the server is killed; returns what was acknowledged. */
async function submitUntilBroken(base: string, acknowledged: string[]): Promise<void> {
  for (;;) {
    try {
      acknowledged.push(...(await submit(base, 5)));
    } catch {
      return;
    }
  }
}

describe('heddle up', () => {
  test('serves, stops at Ctrl-C with code 0 and no process left, and finds its data again', async () => {
    const data = dataDirectory();
    const first = data.up();
    const { url } = await first.ready();
    const { status, json } = await request(url, 'GET', '/health');
    assert.equal(status, 200);
    assert.equal((json as { database: string }).database, 'healthy');
    const metrics = await fetch(`${url}/metrics`, { headers: { connection: 'close' } });
    assert.match(await metrics.text(), /^heddle_queue_messages|^# /m);
    assert.equal(metrics.status, 200);
    const [id] = await submit(url, 1);
    assert.equal(await first.end('SIGINT'), 0, first.stderr);
    await data.gone();
    assert.deepEqual(
      first.events.map(({ event }) => event),
      ['starting', 'ready', 'stopping', 'stopped'],
    );

    const second = data.up();
    const again = await second.ready();
    assert.equal(await statusOf(again.url, id!), 200);
    assert.equal(await second.end('SIGTERM'), 0, second.stderr);
    await data.gone();
  });

  test('shows its banner and its end on the terminal; the log is in a file that only its user can read', async () => {
    const data = dataDirectory();
    const run = data.up({}, []);
    await eventually(() => run.ended || run.stdout.includes('Press Ctrl-C'), 'the banner');
    assert.equal(await run.end('SIGINT'), 0, run.stderr);
    const page = /^Page: http:\/\/127\.0\.0\.1:\d+\/$/m.exec(run.stdout)?.[0];
    const file = join(data.path, 'log');
    assert.deepEqual(run.stdout.trimEnd().split('\n'), [
      `Heddle ${VERSION}`,
      `Data: ${data.path}`,
      `Log:  ${file}`,
      page,
      'Press Ctrl-C to stop.',
      'Stopping. Press Ctrl-C again to force.',
      'Stopped.',
    ]);
    assert.equal(run.stderr, '');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const entries = readFileSync(file, 'utf8').trimEnd().split('\n');
    assert.ok(entries.length > 3 && entries.every((line) => 'msg' in (JSON.parse(line) as object)));
  });

  test('killed under load, it leaves no database behind, and the next start has everything acknowledged', async () => {
    const data = preparedDirectory();
    const first = data.up();
    const { url } = await first.ready();
    const acknowledged: string[] = [];
    const load = Promise.all([1, 2, 3].map(() => submitUntilBroken(url, acknowledged)));
    await eventually(() => acknowledged.length >= 60, 'some load');
    assert.equal(await first.end('SIGKILL'), null);
    await load;
    await data.gone();

    const second = data.up();
    const again = await second.ready();
    for (const id of acknowledged) assert.equal(await statusOf(again.url, id), 200);
    assert.equal(await second.end('SIGINT'), 0, second.stderr);
  });

  test('with all its processes killed at once, the next start recovers', async () => {
    const data = preparedDirectory();
    const first = data.up();
    const { url } = await first.ready();
    const acknowledged: string[] = [];
    const load = submitUntilBroken(url, acknowledged);
    await eventually(() => acknowledged.length >= 20, 'some load');
    assert.ok(data.processes().length >= 3, 'node, the database and the watchdog run');
    data.kill();
    await load;
    await data.gone();

    const second = data.up();
    const again = await second.ready();
    for (const id of acknowledged) assert.equal(await statusOf(again.url, id), 200);
    assert.equal(await second.end('SIGINT'), 0, second.stderr);
    await data.gone();
  });

  test('with its database killed, it restarts the database and continues', async () => {
    const data = preparedDirectory();
    const run = data.up({ CIRCUIT_BREAKER_RECOVERY_TIMEOUT_SECS: '1' });
    const { url } = await run.ready();
    const [id] = await submit(url, 1);
    const killed = postmasterOf(data.path);
    process.kill(killed!, 'SIGKILL');
    await eventually(() => ![killed, undefined].includes(postmasterOf(data.path)), 'another server runs', 60_000);
    await eventually(async () => (await request(url, 'GET', '/health')).status === 200, 'it is healthy again', 60_000);
    // Until the breaker has closed, a request may have to be retried.
    await eventually(async () => (await statusOf(url, id!)) === 200, 'what was stored is there', 60_000);
    assert.equal((await submit(url, 1)).length, 1);
    assert.equal(await run.end('SIGINT'), 0, run.stderr);
    await data.gone();
  });

  test('interrupted during the start, it stops cleanly', async () => {
    const data = dataDirectory();
    const run = data.up();
    await run.event('starting');
    assert.equal(await run.end('SIGINT'), 0, run.stderr);
    await data.gone();
    assert.deepEqual(run.events.at(-1), { event: 'stopped' });
  });

  test('a second one on the same data directory names the first', async () => {
    const data = preparedDirectory();
    const first = data.up();
    await first.ready();
    const second = data.up();
    assert.equal(await second.exited, 1);
    assert.match(second.stderr, new RegExp(`in use by the Heddle with process number ${first.child.pid ?? 0}\\b`));
    assert.equal(await first.end('SIGINT'), 0, first.stderr);
  });

  test('a port in use is named, with the remedy', async () => {
    const data = preparedDirectory();
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const run = data.up({ PORT: String(port) });
    assert.equal(await run.exited, 1);
    other.close();
    assert.match(run.stderr, new RegExp(`Port ${port} on 127\\.0\\.0\\.1 is in use.*PORT=`));
    await data.gone();
  });

  test('an invalid setting is named, and nothing is started', async () => {
    const data = dataDirectory();
    const run = data.up({ WORKER_LOOP_INTERVAL_MS: 'soon' });
    assert.equal(await run.exited, 2);
    const { error, exit_code } = JSON.parse(run.stderr) as { error: string; exit_code: number };
    assert.match(error, /WORKER_LOOP_INTERVAL_MS: must be a whole number between .*, not "soon" \(environment\)/);
    assert.equal(exit_code, 2);
    assert.equal(run.stdout, '');
  });

  test('a second Ctrl-C stops it by force while a webhook keeps it from stopping', async () => {
    const data = preparedDirectory();
    let called = false;
    const target = createServer(() => (called = true)).listen(0, '127.0.0.1');
    await once(target, 'listening');
    const { port } = target.address() as AddressInfo;
    const run = data.up();
    const { url } = await run.ready();
    const on_start = { kind: 'Webhook', params: { url: `http://127.0.0.1:${port}/`, verb: 'Post' } };
    const { status } = await request(url, 'POST', '/task', { body: [{ name: 'hangs', kind: 'k', on_start }] });
    assert.equal(status, 201);
    await eventually(() => called, 'the webhook is under way');
    run.child.kill('SIGINT');
    await run.event('stopping');
    await eventually(() => run.ended || (run.child.kill('SIGINT'), false), 'the forced end');
    assert.equal(await run.exited, 130);
    await data.gone();
    target.closeAllConnections();
    target.close();
  });
});

describe('tokens', () => {
  test('are required beyond loopback, and can be created while it runs or not', async () => {
    const data = preparedDirectory();
    const beyond = { HOST: '0.0.0.0' };
    const refused = data.up(beyond);
    assert.equal(await refused.exited, 1);
    assert.match(refused.stderr, /HOST=0\.0\.0\.0 listens beyond loopback.*heddle token create/);
    await data.gone();

    const made = await heddle(['token', 'create', '--name', 'first', '--scope', 'admin', '--json'], data.environment);
    assert.equal(made.code, 0, made.stderr);
    const first = JSON.parse(made.stdout) as { token: string; id: string };
    await data.gone();

    const run = data.up(beyond);
    const { url } = await run.ready();
    assert.equal((await request(url, 'GET', '/task')).status, 401);
    assert.equal((await request(url, 'GET', '/task', { token: first.token })).status, 200);

    const beside = await heddle(['token', 'create', '--name', 'reader', '--scope', 'read', '--json'], data.environment);
    const reader = JSON.parse(beside.stdout) as { token: string };
    assert.equal((await request(url, 'GET', '/task', { token: reader.token })).status, 200);
    assert.equal((await request(url, 'POST', '/task', { token: reader.token, body: [] })).status, 403);

    const link = `${data.path}-link`;
    symlinkSync(data.path, link);
    const revoked = await heddle(['token', 'revoke', 'reader'], { HEDDLE_DATA_DIR: link });
    rmSync(link);
    assert.equal(revoked.code, 0, revoked.stderr);
    await eventually(
      async () => (await request(url, 'GET', '/task', { token: reader.token })).status === 401,
      'the revoked token is refused',
    );
    const listed = await heddle(['token', 'list', '--json'], data.environment);
    assert.deepEqual(
      (JSON.parse(listed.stdout) as { name: string; state: string }[]).map(({ name, state }) => [name, state]),
      [
        ['first', 'live'],
        ['reader', 'revoked'],
      ],
    );
    assert.ok(!listed.stdout.includes(first.token.slice(4)), 'the text of a token is not listed');
    assert.equal(await run.end('SIGINT'), 0, run.stderr);
    await data.gone();
  });
});

describe('heddle doctor', () => {
  test('passes a new machine and a used data directory, and fails an invalid setting', async () => {
    const data = dataDirectory();
    const fresh = await heddle(['doctor', '--json'], data.environment);
    assert.equal(fresh.code, 0, fresh.stdout);
    assert.equal((await heddle(['migrate', '--json'], data.environment)).code, 0);
    const used = await heddle(['doctor', '--json'], data.environment);
    assert.equal(used.code, 0, used.stdout);
    const { checks } = JSON.parse(used.stdout) as { checks: { name: string; status: string }[] };
    const names = checks.filter(({ status }) => status !== 'fail').map(({ name }) => name);
    for (const name of ['Node.js', 'database', 'durability', 'clock', 'schema', 'tokens', 'port', 'webhooks']) {
      assert.ok(names.includes(name), `${name} is checked`);
    }
    const bad = await heddle(['doctor', '--json'], { ...data.environment, HOST_URL: 'ftp://example.com' });
    assert.equal(bad.code, 1);
    assert.match(bad.stdout, /HOST_URL: must be a URL/);
    await data.gone();
  });
});
