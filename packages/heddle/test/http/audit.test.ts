/** Who did what, over HTTP and by the command line, on a real database. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';

import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { createAuditLog, type AuditLog } from '@heddle/core/engine/audit-log';
import type { Database } from '@heddle/core/store/database';
import { createTestServer, task, type TestServer } from '@heddle/test-support/http/server';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { heddle, type Ran } from '../support/cli/run-command.ts';

const ID = '00000000-0000-7000-8000-000000000000';

let database: Database;
let audit: AuditLog;
let server: TestServer;
let url: string;

before(async () => {
  ({ database } = await createTestDatabase());
  audit = createAuditLog({ database, clock: systemClock, log: silentLogger, retentionMs: 60_000 });
  server = await createTestServer({ audit, config: { authRequired: true } });
  server.tokens.add('hdl_root', ['admin']);
  server.tokens.add('hdl_reader', ['read']);
  server.tokens.add('hdl_worker', ['work']);
  url = await server.app.listen({ host: '127.0.0.1', port: 0 });
});

after(() => server.app.close());

interface Entry {
  seq: number;
  at: string;
  actor: string | null;
  action: string;
  object: string | null;
  status: number | null;
  address: string | null;
  hash: string;
}

async function call(method: string, path: string, token: string | null, body?: unknown): Promise<Response> {
  return fetch(`${url}${path}`, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

const entries = async (query = ''): Promise<Entry[]> =>
  (await (await call('GET', `/v1/audit${query}`, 'hdl_root')).json()) as Entry[];
const cli = (...args: string[]): Promise<Ran> => heddle(['audit', ...args, '--url', url, '--token', 'hdl_root']);

test('calls that change something, and forbidden ones, are recorded with their caller, object and status', async () => {
  const submitted = await call('POST', '/task', 'hdl_root', [task({ name: 'a' })]);
  assert.equal(submitted.status, 201);
  assert.equal((await call('DELETE', `/task/${ID}`, 'hdl_reader')).status, 403);
  // None of these did anything, or anything of its own.
  assert.equal((await call('GET', '/task', 'hdl_reader')).status, 200);
  assert.equal((await call('DELETE', `/task/${ID}`, null)).status, 401);
  assert.equal((await call('POST', '/task', 'hdl_root', [{}])).status, 400);
  // Strangers get 403 for other reasons, and leave nothing behind.
  assert.equal(
    (await call('PATCH', `/task/${ID}?attempt=1&signature=forged`, null, { status: 'Success' })).status,
    403,
  );
  const elsewhere = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  await fetch(`${url}/task`, { method: 'POST', headers: elsewhere });
  await call('POST', `/v1/work/${ID}/heartbeat`, 'hdl_worker', { attempt: 1, holder: 'w' });
  const [forbidden, created, ...none] = await entries();
  assert.deepEqual(none, []);
  assert.equal(created!.actor, 'hdl_root');
  assert.equal(created!.action, 'POST /task');
  assert.equal(created!.object, submitted.headers.get('x-batch-id'));
  assert.equal(created!.status, 201);
  assert.equal(created!.address, '127.0.0.1');
  assert.deepEqual(
    [forbidden!.actor, forbidden!.action, forbidden!.object, forbidden!.status],
    ['hdl_reader', 'DELETE /task/:task_id', ID, 403],
  );
  assert.ok(Math.abs(Date.parse(created!.at) - systemClock.now()) < 600_000);
  assert.equal((await call('GET', '/v1/audit', 'hdl_reader')).status, 403);
});

test('entries are chained as the documentation of the endpoint says, also those of concurrent calls', async () => {
  await Promise.all(Array.from({ length: 40 }, (_, index) => call('PUT', `/v1/rules/r${index}`, 'hdl_root', RULE)));
  const all = await entries('?after=0&page_size=100');
  assert.ok(all.length >= 40);
  let previous = Buffer.alloc(32);
  for (const [index, { seq, hash, at, actor, action, object, status, address }] of all.entries()) {
    assert.equal(seq, index + 1);
    const text = JSON.stringify({ at: Date.parse(at), actor, action, object, status, address });
    previous = createHash('sha256').update(previous).update(`${seq} ${text}`).digest();
    assert.equal(hash, previous.toString('hex'));
  }
});

const RULE = { type: 'Concurency', max_concurency: 1, matcher: { kind: 'K', status: 'Running', fields: [] } };

test('the list is filtered and paged', async () => {
  assert.equal((await entries('?action=PUT%20/v1/rules/:name&object=r7')).length, 1);
  assert.equal((await entries('?actor=nobody')).length, 0);
  const [last] = await entries('?page_size=1');
  const [before] = await entries(`?page_size=1&before=${last!.seq}`);
  assert.equal(before!.seq, last!.seq - 1);
  assert.equal((await entries('?since=2999-01-01')).length, 0);
});

test('the command line lists the log, and verifies it by computing every hash', async () => {
  const listed = await cli('list', '--action', 'DELETE /task/:task_id');
  assert.equal(listed.code, 0, listed.stderr);
  assert.match(listed.lines[0]!, /^NUMBER +TIME +ACTOR +ACTION +OBJECT +STATUS$/);
  assert.match(listed.lines[1]!, new RegExp(`^2 .* hdl_reader +DELETE /task/:task_id +${ID} +403$`));
  const verified = await cli('verify');
  assert.equal(verified.code, 0, verified.stderr);
  assert.match(verified.stdout, /42 lines are intact, number 1 to 42/);
  const head = /head +([0-9a-f]{64})/.exec(verified.stdout)![1]!;
  assert.equal((await cli('verify', '--head', head)).code, 0);
  assert.equal((await cli('verify', '--head', head.replace(/.$/, head.endsWith('0') ? '1' : '0'))).code, 1);
  assert.equal((await cli('verify', '--head', 'abc')).code, 2);
});

test('old entries are deleted without gaps, whatever the clocks of the servers say', async () => {
  const now = systemClock.now();
  const at = (time: number): AuditLog =>
    createAuditLog({ database, clock: { ...systemClock, now: () => time }, log: silentLogger, retentionMs: 60_000 });
  const entry = { actor: null, action: 'test', object: null, status: null, address: null };
  await at(now - 120_000).record(entry);
  await at(now).retain(10_000);
  const verified = await cli('verify');
  assert.equal(verified.code, 0, verified.stdout);
});

test('a changed, a removed and a cut-off entry are found', async () => {
  const run = (text: string): Promise<object[]> => database.query({ name: `test.${text.length}`, text });
  const [{ entry }] = (await run(`select entry from heddle.audit_entry where seq = 5`)) as [{ entry: string }];
  await run(`update heddle.audit_entry set entry = replace(entry, 'hdl_root', 'somebody') where seq = 5`);
  const changed = await cli('verify');
  assert.equal(changed.code, 1);
  assert.match(changed.stdout, /line 5, number 5 is not intact/);
  await database.query({ name: 'test.restore', text: `update heddle.audit_entry set entry = $1 where seq = 5` }, [
    entry,
  ]);
  assert.equal((await cli('verify')).code, 0);

  const head = ((await cli('verify', '--json')).json() as { last: { hash: string } }).last.hash;
  await run(`delete from heddle.audit_entry where seq = (select max(seq) from heddle.audit_entry)`);
  assert.equal((await cli('verify')).code, 0);
  assert.equal((await cli('verify', '--head', head)).code, 1);

  await run(`delete from heddle.audit_entry where seq = 10`);
  const removed = await cli('verify');
  assert.equal(removed.code, 1);
  assert.match(removed.stdout, /it is number 11 after number 9/);
});

test('old entries are deleted, but never the end of the chain', async () => {
  const later = createAuditLog({
    database,
    clock: { ...systemClock, now: () => 2e12 * 2 },
    log: silentLogger,
    retentionMs: 1,
  });
  await later.retain(10_000);
  const rest = await entries('?after=0');
  assert.equal(rest.length, 1);
  await audit.record({ actor: null, action: 'test', object: 'a\0b\ud800', status: null, address: null });
  const verified = await cli('verify');
  assert.equal(verified.code, 0);
  assert.match(verified.stdout, /earlier entries were deleted/);
});
