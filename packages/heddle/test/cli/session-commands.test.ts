import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';

import { systemClock } from '@heddle/base/clock';
import { systemRandom } from '@heddle/base/random';
import type { TokenScope } from '@heddle/core/domain/token';
import type { Database } from '@heddle/core/store/database';
import { SessionStore } from '@heddle/core/store/sessions';
import { TokenStore } from '@heddle/core/store/tokens';
import { createTestServer, type TestServer } from '@heddle/test-support/http/server';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { heddle, type Ran } from '../support/cli/run-command.ts';

const HOUR_MS = 3_600_000;
const UNKNOWN_ID = '01900000-0000-7000-8000-000000000000';
const FROM = { address: '192.0.2.7', browser: 'Firefox 140 on Linux' };

let server: TestServer;
let database: Database;
let tokens: TokenStore;
let sessions: SessionStore;
let url: string;
let admin: string;

before(async () => {
  ({ database } = await createTestDatabase());
  const parts = { database, clock: systemClock, random: systemRandom };
  tokens = new TokenStore(parts);
  sessions = new SessionStore({ ...parts, idleMs: HOUR_MS, maxMs: 24 * HOUR_MS });
  server = await createTestServer({ tokens, sessionRepository: sessions, config: { authRequired: true } });
  url = await server.app.listen({ host: '127.0.0.1', port: 0 });
  admin = (await tokens.create('root', ['admin'], null)).text;
});

beforeEach(async () => {
  for (const { id } of await sessions.list(null)) await sessions.end(id);
});

after(() => server.app.close());

const session = (...args: string[]): Promise<Ran> => heddle(['session', ...args, '--url', url, '--token', admin]);

/** Logs a user of the identity provider in. */
async function logIn(name: string, subject = name): Promise<string> {
  const scopes: TokenScope[] = ['read'];
  const { session: opened } = await sessions.open({ issuer: 'https://id.test', subject, name, scopes }, FROM);
  return opened!.id;
}

async function liveIds(): Promise<string[]> {
  return (await sessions.list(null)).map(({ id }) => id).sort();
}

test('sessions are listed with their user, login, browser and address, as a table or as JSON', async () => {
  assert.equal((await session('list')).stdout, 'no sessions\n');
  const ann = await logIn('ann@example.com');
  await logIn('bob \u001b[2J');
  const listed = await session('list');
  assert.equal(listed.code, 0, listed.stderr);
  assert.match(listed.lines[0]!, /^ID +USER +ROLE +LOGIN +BROWSER +ADDRESS +LAST USED +EXPIRES$/);
  assert.equal(listed.lines.length, 3);
  assert.match(
    listed.stdout,
    new RegExp(`^${ann} +ann@example\\.com +viewer +oidc +Firefox 140 on Linux +192\\.0\\.2\\.7 +\\d{4}-.*Z$`, 'm'),
  );
  assert.ok(!listed.stdout.includes('\u001b'));
  const own = (await session('list', '--user', 'ann@example.com', '--json')).json() as { id: string; user: string }[];
  assert.deepEqual(
    own.map(({ id, user }) => [id, user]),
    [[ann, 'ann@example.com']],
  );
});

test('one session ends by its id; an unknown one is not found', async () => {
  const [ann, bob] = [await logIn('ann'), await logIn('bob')];
  const ended = await session('end', ann.toUpperCase());
  assert.deepEqual([ended.code, ended.stdout], [0, `session ${ann} ended\n`]);
  assert.deepEqual(await liveIds(), [bob]);
  const again = await session('end', ann);
  assert.equal(again.code, 3);
  assert.match(again.stderr, /^error\[NOT_FOUND\]: No such session/);
  assert.match(again.stderr, /^hint: .*heddle session list/m);
  const json = await session('end', bob, '--json');
  assert.deepEqual(json.json(), { ended: [bob] });
  const unknown = await session('end', UNKNOWN_ID, '--json');
  assert.deepEqual([unknown.code, (JSON.parse(unknown.stderr) as { code: string }).code], [3, 'NOT_FOUND']);
});

test('all sessions of a user end at once, also those of tokens of this name, and no others', async () => {
  const { token } = await tokens.create('ann', ['read'], null);
  const { session: byToken } = await sessions.open({ token_id: token.id }, FROM);
  const others = [await logIn('anna'), await logIn('bob')].sort();
  const own = [await logIn('ann', 'a1'), await logIn('ann', 'a1'), await logIn('ann', 'a2'), byToken!.id].sort();
  const ended = await session('end', '--user', 'ann', '--json');
  assert.equal(ended.code, 0, ended.stderr);
  assert.deepEqual((ended.json() as { ended: string[] }).ended.sort(), own);
  assert.deepEqual(await liveIds(), others);
  const text = await session('end', '--user', 'bob');
  assert.deepEqual([text.code, text.stdout], [0, 'ended 1 session of bob\n']);
});

test('a name without sessions exits with 3, since it may be mistyped', async () => {
  await logIn('ann');
  const none = await session('end', '--user', 'Ann');
  assert.deepEqual([none.code, none.stdout], [3, 'no sessions of Ann; list them with: heddle session list\n']);
  const json = await session('end', '--user', 'Ann', '--json');
  assert.deepEqual([json.code, json.json()], [3, { ended: [] }]);
  assert.equal((await liveIds()).length, 1);
});

test('either an id or a user must be named', async () => {
  const id = await logIn('ann');
  for (const args of [[], [id, '--user', 'ann'], ['everything'], ['--user', '']]) {
    const ran = await session('end', ...args);
    assert.equal(ran.code, 2, args.join(' '));
  }
  assert.deepEqual(await liveIds(), [id]);
});

test('a token without admin lists and ends its own sessions only', async () => {
  const ann = await logIn('ann');
  const { text, token } = await tokens.create('viewer', ['read'], null);
  const { session: own } = await sessions.open({ token_id: token.id }, FROM);
  const as = (...args: string[]): Promise<Ran> => heddle(['session', ...args, '--url', url, '--token', text]);
  const listed = (await as('list', '--json')).json() as { id: string }[];
  assert.deepEqual(
    listed.map(({ id }) => id),
    [own!.id],
  );
  assert.equal((await as('end', ann)).code, 3);
  assert.equal((await as('end', '--user', 'ann')).code, 3);
  assert.equal((await as('end', '--user', 'viewer')).code, 0);
  assert.deepEqual(await liveIds(), [ann]);
  const denied = await heddle(['session', 'list', '--url', url]);
  assert.equal(denied.code, 5);
});
