/** Logins of browsers over HTTP, with tokens and sessions in a real database. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import type { TokenScope } from '@heddle/core/domain/token';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { createAuditLog, type AuditLog } from '@heddle/core/engine/audit-log';
import type { Database } from '@heddle/core/store/database';
import { SESSIONS_PER_OWNER_MAX, SessionStore } from '@heddle/core/store/sessions';
import { TokenStore } from '@heddle/core/store/tokens';
import { createTestServer, type Problem, type TestServer } from '@heddle/test-support/http/server';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase } from '@heddle/test-support/postgres';
import type { LoginStateDto, SessionDto } from '../../src/http/wire/session.ts';
import type { CreatedTokenDto, TokenDto } from '../../src/http/wire/token.ts';

const IDLE_MS = 3_600_000;
const MAX_MS = 4 * IDLE_MS;
const ORIGIN = 'http://heddle.test';
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

let clock: VirtualClock;
let database: Database;
let tokens: TokenStore;
let sessions: SessionStore;
let audit: AuditLog;
let server: TestServer;

before(async () => {
  ({ database } = await createTestDatabase());
});

beforeEach(async () => {
  clock = new VirtualClock();
  tokens = new TokenStore({ database, clock, random: systemRandom });
  sessions = new SessionStore({ database, clock, random: systemRandom, idleMs: IDLE_MS, maxMs: MAX_MS });
  audit = createAuditLog({ database, clock, log: silentLogger, retentionMs: 60_000 });
  server = await open();
});

after(() => server.app.close());

function open(config: Record<string, unknown> = {}): Promise<TestServer> {
  const parts = { clock, audit, tokens, sessionRepository: sessions };
  return createTestServer({ ...parts, config: { authRequired: true, ...config } });
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

interface Call {
  cookie?: string;
  headers?: Record<string, string>;
  payload?: object;
  address?: string;
  to?: TestServer;
}

function call(method: Method, url: string, { cookie, headers, payload, address, to = server }: Call = {}) {
  return to.app.inject({
    method,
    url,
    headers: { host: 'heddle.test', origin: ORIGIN, ...(cookie === undefined ? {} : { cookie }), ...headers },
    ...(payload === undefined ? {} : { payload }),
    ...(address === undefined ? {} : { remoteAddress: address }),
  });
}

const statusOf = async (...args: Parameters<typeof call>): Promise<number> => (await call(...args)).statusCode;

async function newToken(scopes: TokenScope[], expiresAt: number | null = null): Promise<{ text: string; id: string }> {
  const { text, token } = await tokens.create(`ann-${scopes.join('-')}`, scopes, expiresAt);
  return { text, id: token.id };
}

function cookieOf(answer: Awaited<ReturnType<typeof call>>): string {
  return String(answer.headers['set-cookie']).split(';', 1)[0]!;
}

async function logIn(token: string, more: Call = {}): Promise<{ cookie: string; id: string }> {
  const answer = await call('POST', '/v1/session', { ...more, payload: { token } });
  assert.equal(answer.statusCode, 201, answer.body);
  return { cookie: cookieOf(answer), id: answer.json<LoginStateDto>().user!.session_id! };
}

describe('logging in with a token', () => {
  test('sets a cookie that neither scripts nor other sites can use, and that replaces the token', async () => {
    const { text } = await newToken(['read']);
    const answer = await call('POST', '/v1/session', { payload: { token: text } });
    assert.equal(answer.statusCode, 201);
    const [value, ...attributes] = String(answer.headers['set-cookie']).split('; ');
    assert.match(value!, /^heddle_session=hds_[A-Za-z0-9_-]{43}$/);
    assert.deepEqual(attributes, ['Path=/', `Max-Age=${MAX_MS / 1000}`, 'HttpOnly', 'SameSite=Strict']);
    const { authentication, user, logins } = answer.json<LoginStateDto>();
    assert.equal(authentication, 'required');
    assert.deepEqual(logins, { token: true, oidc: null });
    assert.deepEqual([user!.name, user!.role, user!.scopes], ['ann-read', 'viewer', ['read']]);
    const cookie = cookieOf(answer);
    assert.deepEqual((await call('GET', '/v1/session', { cookie })).json<LoginStateDto>().user, user);
    assert.equal(await statusOf('GET', '/task', { cookie }), 200);
    assert.equal(await statusOf('GET', '/task'), 401);
    const forbidden = await call('POST', '/v1/jobs/nightly/trigger', { cookie });
    assert.deepEqual([forbidden.statusCode, forbidden.json<Problem>().code], [403, 'FORBIDDEN']);
  });

  test('stores the value of the cookie by its hash only', async () => {
    const { cookie, id } = await logIn((await newToken(['read'])).text);
    const [row] = await database.query<{ text: string }>({
      name: 'test.session',
      text: `select row_to_json(s)::text as text from session s where id = '${id}'`,
    });
    assert.ok(!row!.text.includes(cookie.split('=')[1]!.slice(4)));
  });

  test('over HTTPS the cookie is sent over HTTPS only, also if a trusted proxy says so, but no other caller', async () => {
    const { text } = await newToken(['read']);
    const isSecure = async (to: TestServer, address: string): Promise<boolean> => {
      const headers = { 'x-forwarded-proto': 'https' };
      const answer = await call('POST', '/v1/session', { to, payload: { token: text }, headers, address });
      return String(answer.headers['set-cookie']).endsWith('; Secure');
    };
    assert.equal(await isSecure(await open({ hostUrl: 'https://heddle.test' }), '192.0.2.1'), true);
    const proxied = await open({ trustedProxies: ['10.0.0.0/8'] });
    assert.equal(await isSecure(proxied, '10.1.2.3'), true);
    assert.equal(await isSecure(proxied, '::ffff:10.1.2.3'), true);
    assert.equal(await isSecure(proxied, '192.0.2.1'), false);
  });

  test('requires the scope read, and takes small bodies only', async () => {
    const { text } = await newToken(['submit']);
    const refused = await call('POST', '/v1/session', { payload: { token: text } });
    assert.equal(refused.statusCode, 403);
    assert.match(refused.json<Problem>().details[0]!, /^token: the console requires the scope read/);
    assert.equal(refused.headers['set-cookie'], undefined);
    assert.equal(await statusOf('POST', '/v1/session', { payload: { token: 'x'.repeat(4_000) } }), 413);
    assert.equal(await statusOf('POST', '/v1/session', { payload: { token: 'hdl_unknown' } }), 401);
  });

  test('ends the session that the browser had', async () => {
    const { text } = await newToken(['read']);
    const first = await logIn(text);
    const second = await logIn(text, { cookie: first.cookie });
    assert.equal(await statusOf('GET', '/task', { cookie: first.cookie }), 401);
    assert.equal(await statusOf('GET', '/task', { cookie: second.cookie }), 200);
  });

  test('a further session ends the one that was not used for the longest time', async () => {
    const { text, id } = await newToken(['read']);
    const first = await logIn(text);
    for (let n = 1; n < SESSIONS_PER_OWNER_MAX; n += 1) {
      await clock.advance(1);
      await sessions.open({ token_id: id }, { address: null, browser: null });
    }
    assert.notEqual(await sessions.get(first.id), null);
    await clock.advance(1);
    await logIn(text);
    assert.equal(await sessions.get(first.id), null);
    const key = { token_id: id, issuer: null, subject: null };
    assert.equal((await sessions.list(key)).length, SESSIONS_PER_OWNER_MAX);
  });

  test('is not needed where no token is required', async () => {
    const to = await open({ authRequired: false, allowedHosts: ['heddle.test'] });
    const state = { authentication: 'none', user: null, logins: { token: false, oidc: null } };
    assert.deepEqual((await call('GET', '/v1/session', { to })).json(), state);
    assert.equal(await statusOf('POST', '/v1/session', { to, payload: { token: 'x' } }), 409);
    assert.equal(await statusOf('GET', '/task', { to }), 200);
  });
});

describe('roles', () => {
  test('are what the scopes of a token amount to', async () => {
    const roles: [TokenScope[], string][] = [
      [['read'], 'viewer'],
      [['operate'], 'viewer'],
      [['read', 'submit', 'work'], 'viewer'],
      [['operate', 'submit'], 'operator'],
      [['operate', 'submit', 'command'], 'operator'],
      [['admin'], 'admin'],
    ];
    for (const [scopes, role] of roles) {
      const { cookie } = await logIn((await newToken(scopes)).text);
      const { user } = (await call('GET', '/v1/session', { cookie })).json<LoginStateDto>();
      assert.equal(user!.role, role, scopes.join());
      for (const scope of scopes) assert.ok(user!.scopes.includes(scope));
    }
  });

  test('a token in the header is shown as well, and wins over a cookie', async () => {
    const admin = await newToken(['admin']);
    const { cookie } = await logIn((await newToken(['read'])).text);
    const headers = { authorization: `Bearer ${admin.text}` };
    const { user } = (await call('GET', '/v1/session', { cookie, headers })).json<LoginStateDto>();
    assert.deepEqual([user!.role, user!.session_id], ['admin', null]);
    assert.equal(await statusOf('GET', '/v1/tokens', { cookie, headers }), 200);
    assert.equal(await statusOf('GET', '/v1/tokens', { cookie }), 403);
    assert.equal(await statusOf('GET', '/task', { cookie, headers: { authorization: 'Bearer hdl_unknown' } }), 401);
  });
});

describe('a session ends', () => {
  test('when it is not used for a time, which starts again with each use', async () => {
    const { cookie, id } = await logIn((await newToken(['read'])).text);
    for (let n = 0; n < 3; n += 1) {
      await clock.advance(IDLE_MS - 60_000);
      assert.equal(await statusOf('GET', '/task', { cookie }), 200);
      const isRecorded = async () => (await sessions.get(id))!.last_used_at === clock.now();
      await eventually(isRecorded, 'the use is recorded');
    }
    await clock.advance(IDLE_MS + 60_000);
    assert.equal(await statusOf('GET', '/task', { cookie }), 401);
    assert.equal((await call('GET', '/v1/session', { cookie })).json<LoginStateDto>().user, null);
  });

  test('after its maximum time, however much it is used', async () => {
    const { cookie, id } = await logIn((await newToken(['read'])).text);
    for (let at = 0; at < MAX_MS; at += IDLE_MS / 2) {
      assert.equal(await statusOf('GET', '/task', { cookie }), 200);
      await sessions.touch(id, clock.now(), '127.0.0.1');
      await clock.advance(IDLE_MS / 2);
    }
    assert.equal(await statusOf('GET', '/task', { cookie }), 401);
  });

  test('with its token: at its expiry at once, after a revocation within seconds', async () => {
    const brief = await logIn((await newToken(['read'], clock.now() + 1_000)).text);
    const { text, id } = await newToken(['read']);
    const { cookie } = await logIn(text);
    assert.equal(await statusOf('GET', '/task', { cookie: brief.cookie }), 200);
    assert.equal(await statusOf('GET', '/task', { cookie }), 200);
    await tokens.revoke(id);
    await clock.advance(2_000);
    assert.equal(await statusOf('GET', '/task', { cookie: brief.cookie }), 401);
    assert.equal(await statusOf('GET', '/task', { cookie }), 401);
  });

  test('by logging out, on every server within seconds', async () => {
    const other = await open();
    const { cookie } = await logIn((await newToken(['read'])).text);
    assert.equal(await statusOf('GET', '/task', { cookie, to: other }), 200);
    const out = await call('DELETE', '/v1/session', { cookie });
    assert.equal(out.statusCode, 204);
    assert.match(String(out.headers['set-cookie']), /^heddle_session=; Path=\/; Max-Age=0; HttpOnly; SameSite=Strict$/);
    assert.equal(await statusOf('GET', '/task', { cookie }), 401);
    await clock.advance(2_000);
    assert.equal(await statusOf('GET', '/task', { cookie, to: other }), 401);
    assert.equal(await statusOf('DELETE', '/v1/session', { cookie }), 204, 'again has no effect');
  });

  test('and is then deleted', async () => {
    const { text, id: tokenId } = await newToken(['read']);
    const revoked = await logIn(text);
    await tokens.revoke(tokenId);
    const idle = await logIn((await newToken(['read'])).text);
    await clock.advance(IDLE_MS);
    const live = await logIn((await newToken(['read'])).text);
    await sessions.retain(100);
    const left = await Promise.all(
      [revoked, idle, live].map(async ({ id }) => {
        const text = `select 1 from session where id = '${id}'`;
        return (await database.query({ name: `test.${id.slice(-8)}`, text })).length;
      }),
    );
    assert.deepEqual(left, [0, 0, 1]);
  });
});

describe('sessions are listed and ended', () => {
  test('by their users, with last use, address and browser; all of them by administrators', async () => {
    const ann = await newToken(['read']);
    const address = '192.0.2.7';
    const own = await logIn(ann.text, { headers: { 'user-agent': FIREFOX }, address });
    const others = await logIn((await newToken(['read', 'submit'])).text);
    const { cookie } = own;
    const listed = (await call('GET', '/v1/sessions', { cookie, address })).json<SessionDto[]>();
    assert.equal(listed.length, 1);
    const [session] = listed;
    assert.deepEqual(
      { ...session, created_at: 0, expires_at: 0, last_used_at: 0 },
      {
        id: own.id,
        user: 'ann-read',
        role: 'viewer',
        login: 'token',
        token_id: ann.id,
        current: true,
        created_at: 0,
        last_used_at: 0,
        expires_at: 0,
        address,
        browser: 'Firefox 140 on Linux',
      },
    );
    assert.equal(await statusOf('DELETE', `/v1/sessions/${others.id}`, { cookie }), 404);
    assert.equal(await statusOf('GET', '/task', { cookie: others.cookie }), 200);
    const admin = await logIn((await newToken(['admin'])).text);
    const all = (await call('GET', '/v1/sessions', { cookie: admin.cookie })).json<SessionDto[]>();
    for (const { id } of [own, others, admin]) assert.ok(all.some((each) => each.id === id));
    assert.equal(await statusOf('DELETE', `/v1/sessions/${others.id}`, { cookie: admin.cookie }), 204);
    assert.equal(await statusOf('GET', '/task', { cookie: others.cookie }), 401);
    const headers = { authorization: `Bearer ${ann.text}` };
    assert.equal(await statusOf('DELETE', `/v1/sessions/${own.id}`, { headers }), 204, 'also with the token itself');
    assert.equal(await statusOf('GET', '/task', { cookie }), 401);
  });

  test('by the name of the user, which does not show those of others', async () => {
    const ann = await newToken(['read']);
    const own = await logIn(ann.text);
    const other = await logIn((await newToken(['admin'])).text);
    const named = async (user: string, { cookie }: { cookie: string }): Promise<string[]> => {
      const answer = await call('GET', `/v1/sessions?user=${user}`, { cookie });
      return answer.json<SessionDto[]>().map(({ id }) => id);
    };
    assert.deepEqual(await named('ann-read', own), [own.id]);
    assert.deepEqual(await named('ann-admin', own), []);
    const all = await named('ann-read', other);
    assert.ok(all.includes(own.id) && !all.includes(other.id));
    const identity = { issuer: 'https://id.test', subject: 'b1', name: 'bob', scopes: ['read' as const] };
    const { session } = await sessions.open(identity, { address: null, browser: null });
    assert.deepEqual(await named('bob', other), [session!.id]);
    assert.equal(await statusOf('GET', '/v1/sessions?user=', { cookie: other.cookie }), 400);
  });

  test('the audit log names the user', async () => {
    const { text } = await newToken(['admin']);
    const { cookie, id } = await logIn(text, { address: '192.0.2.9' });
    await call('POST', '/v1/tokens', { cookie, payload: { name: 'ci', scopes: ['submit'] } });
    await call('DELETE', '/v1/session', { cookie });
    await call('POST', '/v1/session', { payload: { token: 'hdl_unknown' } });
    await call('DELETE', '/v1/session');
    const [out, created, opened] = await audit.list(
      { before: null },
      { actor: 'ann-admin', action: null, object: null, since: null },
      3,
    );
    assert.deepEqual([opened!.action, opened!.object, opened!.address], ['POST /v1/session', id, '192.0.2.9']);
    assert.match(`${created!.action} ${created!.object!}`, /^POST \/v1\/tokens [0-9a-f-]{36} ci submit$/);
    assert.deepEqual([out!.action, out!.object], ['DELETE /v1/session', id]);
  });
});

describe('pages of other origins', () => {
  const foreign = [
    { origin: 'http://evil.test' },
    { origin: 'http://heddle.test:8086' },
    { origin: 'null' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site' },
  ];

  test('can do nothing with the cookie, nor log the browser in or out', async () => {
    const { text } = await newToken(['admin']);
    const { cookie } = await logIn(text);
    const id = '00000000-0000-7000-8000-000000000000';
    const calls: [Method, string][] = [
      ['POST', '/v1/jobs/nightly/trigger'],
      ['DELETE', `/task/${id}`],
      ['GET', `/v1/batches/${id}/events`],
      ['GET', `/v1/artifacts/${id}/content`],
      ['GET', '/task'],
      ['DELETE', '/v1/session'],
      ['POST', '/v1/session'],
    ];
    for (const [method, url] of calls) {
      for (const headers of foreign) {
        const payload = url === '/v1/session' && method === 'POST' ? { payload: { token: text } } : {};
        const answer = await call(method, url, { cookie, headers, ...payload });
        const shown = `${method} ${url} ${JSON.stringify(headers)}`;
        assert.deepEqual([answer.statusCode, answer.json<Problem>().code], [403, 'CROSS_ORIGIN'], shown);
        assert.equal(answer.headers['set-cookie'], undefined);
      }
    }
    assert.equal(await statusOf('GET', '/task', { cookie }), 200, 'the session is as it was');
  });

  test('a change with the cookie must name its origin; reads need not, and pages elsewhere cannot embed them', async () => {
    const { cookie } = await logIn((await newToken(['admin'])).text);
    const send = (method: Method, url: string, headers: Record<string, string>) =>
      server.app.inject({ method, url, headers: { host: 'heddle.test', cookie, ...headers } });
    const bare = await send('POST', '/v1/jobs/nightly/trigger', {});
    assert.deepEqual([bare.statusCode, bare.json<Problem>().code], [403, 'CROSS_ORIGIN']);
    assert.equal((await send('POST', '/v1/jobs/nightly/trigger', { origin: ORIGIN })).statusCode, 404);
    const fromPage = { 'sec-fetch-site': 'same-origin' };
    assert.equal((await send('POST', '/v1/jobs/nightly/trigger', fromPage)).statusCode, 404);
    const read = await send('GET', '/task', {});
    assert.equal(read.statusCode, 200);
    assert.equal(read.headers['cross-origin-resource-policy'], 'same-origin');
  });

  test('tokens work from everywhere, as browsers never add them by themselves', async () => {
    const { text } = await newToken(['admin']);
    for (const headers of foreign) {
      const status = await statusOf('POST', '/v1/jobs/nightly/trigger', {
        headers: { ...headers, authorization: `Bearer ${text}` },
      });
      assert.equal(status, 404);
    }
  });
});

describe('failed logins', () => {
  const fail = (address: string) => call('POST', '/v1/session', { address, payload: { token: 'hdl_wrong' } });

  test('are limited for each address, without locking out others', async () => {
    const { text } = await newToken(['read']);
    for (let n = 0; n < 10; n += 1) assert.equal((await fail('192.0.2.1')).statusCode, 401);
    const refused = await fail('192.0.2.1');
    assert.equal(refused.statusCode, 429);
    assert.equal(refused.headers['retry-after'], '10');
    for (const address of ['192.0.2.2', '::ffff:192.0.2.3']) await logIn(text, { address });
    await clock.advance(10_000);
    await logIn(text, { address: '192.0.2.1' });
  });

  test('of one IPv6 network count together', async () => {
    for (let n = 0; n < 10; n += 1) assert.equal((await fail(`2001:db8::${n}`)).statusCode, 401);
    assert.equal((await fail('2001:db8::ffff:1')).statusCode, 429);
    assert.equal((await fail('2001:db8:0:1::1')).statusCode, 401);
  });

  test('are limited in total: then an address may try only if none of its logins has failed', async () => {
    const { text } = await newToken(['read']);
    for (let n = 0; n < 100; n += 1) assert.equal((await fail(`198.51.100.${n}`)).statusCode, 401);
    assert.equal((await fail('198.51.100.1')).statusCode, 429);
    assert.equal((await fail('198.51.100.200')).statusCode, 401);
    assert.equal((await fail('198.51.100.200')).statusCode, 429);
    await logIn(text, { address: '198.51.100.201' });
  });

  test('successful ones do not count', async () => {
    const { text } = await newToken(['read']);
    for (let n = 0; n < 15; n += 1) await logIn(text, { address: '192.0.2.1' });
  });
});

describe('tokens over HTTP', () => {
  test('are created, listed and revoked by administrators', async () => {
    const { cookie } = await logIn((await newToken(['admin'])).text);
    const payload = { name: 'scanner', scopes: ['work', 'work'], kinds: ['Command'], expires_in_secs: 60 };
    const answer = await call('POST', '/v1/tokens', { cookie, payload });
    assert.equal(answer.statusCode, 201, answer.body);
    const { token, ...created } = answer.json<CreatedTokenDto>();
    assert.match(token, /^hdl_[A-Za-z0-9_-]{43}$/);
    assert.deepEqual(
      [created.scopes, created.kinds, created.classes, created.state],
      [['work'], ['Command'], null, 'live'],
    );
    assert.equal(Date.parse(created.expires_at!), clock.now() + 60_000);
    const find = async (): Promise<TokenDto | undefined> =>
      (await call('GET', '/v1/tokens', { cookie })).json<TokenDto[]>().find(({ id }) => id === created.id);
    assert.deepEqual(await find(), created);
    const url = `/v1/tokens/${created.id}`;
    assert.equal(await statusOf('DELETE', url, { cookie }), 204);
    assert.equal(await statusOf('DELETE', url, { cookie }), 204, 'again has no effect');
    assert.equal((await find())!.state, 'revoked');
    assert.equal(await statusOf('DELETE', '/v1/tokens/00000000-0000-7000-8000-000000000000', { cookie }), 404);
    const viewer = await logIn((await newToken(['read'])).text);
    assert.equal(await statusOf('POST', '/v1/tokens', { cookie: viewer.cookie, payload }), 403);
  });

  test('names and scopes follow the rules of the command line', async () => {
    const { cookie } = await logIn((await newToken(['admin'])).text);
    const faults: [object, RegExp][] = [
      [{ name: ' ci', scopes: ['read'] }, /^name: /],
      [{ name: 'c\ni', scopes: ['read'] }, /^name: /],
      [{ name: 'c\u0085i', scopes: ['read'] }, /^name: /],
      [{ name: 'ci', scopes: [] }, /^scopes: /],
      [{ name: 'ci', scopes: ['root'] }, /^scopes\[0\]: /],
      [{ name: 'ci', scopes: ['read'], expires_in_secs: 0 }, /^expires_in_secs: /],
    ];
    for (const [payload, fault] of faults) {
      const answer = await call('POST', '/v1/tokens', { cookie, payload });
      assert.equal(answer.statusCode, 400, JSON.stringify(payload));
      assert.match(answer.json<Problem>().details[0]!, fault);
    }
  });
});
