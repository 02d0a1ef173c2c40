import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { TokenScope } from '@heddle/core/domain/token';
import type { Job } from '@heddle/core/domain/schedule';
import type { Jobs } from '@heddle/core/engine/schedule/port';
import type { Queues } from '../../src/http/ports.ts';
import { VirtualClock } from '@heddle/base/clock';
import { newId } from '@heddle/base/random';
import { handleUrl } from '@heddle/base/signing';
import { createTestServer, HANDLE_KEY, task, type Problem, type TestServer } from '@heddle/test-support/http/server';

const ID = '00000000-0000-7000-8000-000000000000';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

async function call(server: TestServer, method: Method, url: string, token?: string, payload?: object) {
  return server.app.inject({
    method,
    url,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    ...(payload === undefined ? {} : { payload }),
  });
}

test('metrics without a token are served under the names of this machine only, also where tokens are required', async () => {
  const { app } = await createTestServer({ config: { authRequired: true, allowedHosts: ['heddle.internal'] } });
  const statusAs = async (headers: Record<string, string>): Promise<number> =>
    (await app.inject({ url: '/metrics', headers })).statusCode;
  assert.equal(await statusAs({ host: 'evil.example' }), 403);
  assert.equal(await statusAs({ host: 'localhost' }), 200);
  assert.equal(await statusAs({ host: 'heddle.internal:8085' }), 200);
  await app.close();
});

describe('tokens', () => {
  test('each route requires its scope', async () => {
    const server = await createTestServer({ config: { authRequired: true, metricsPublic: false } });
    const scopes: TokenScope[] = ['read', 'submit', 'work', 'operate', 'runner', 'admin'];
    for (const scope of scopes) server.tokens.add(`hdl_${scope}`, [scope]);
    const routes: [Method, string, TokenScope][] = [
      ['POST', '/task', 'submit'],
      ['GET', '/task', 'read'],
      ['GET', `/task/${ID}`, 'read'],
      ['PATCH', `/task/${ID}`, 'operate'],
      ['PUT', `/task/${ID}`, 'operate'],
      ['DELETE', `/task/${ID}`, 'operate'],
      ['PATCH', `/task/pause/${ID}`, 'operate'],
      ['PATCH', `/task/resume/${ID}`, 'operate'],
      ['POST', `/v1/tasks/${ID}/retry`, 'operate'],
      ['GET', `/v1/tasks/${ID}/explain`, 'read'],
      ['GET', `/dag/${ID}`, 'read'],
      ['GET', '/v1/batches', 'read'],
      ['GET', `/v1/batches/${ID}`, 'read'],
      ['DELETE', `/v1/batches/${ID}`, 'operate'],
      ['GET', `/v1/batches/${ID}/events`, 'read'],
      ['POST', '/v1/work/claim', 'work'],
      ['POST', `/v1/work/${ID}/heartbeat`, 'work'],
      ['POST', `/v1/work/${ID}/complete`, 'work'],
      ['POST', `/v1/work/${ID}/fail`, 'work'],
      ['POST', `/v1/work/${ID}/release`, 'work'],
      ['POST', `/v1/work/${ID}/children`, 'work'],
      ['GET', `/v1/work/${ID}/results`, 'work'],
      ['POST', `/v1/work/${ID}/logs`, 'work'],
      ['GET', `/v1/tasks/${ID}/attempts`, 'read'],
      ['GET', `/v1/tasks/${ID}/logs`, 'read'],
      ['GET', `/v1/tasks/${ID}/logs/events`, 'read'],
      ['POST', '/v1/pool/agent/register', 'runner'],
      ['GET', '/v1/webhooks', 'read'],
      ['POST', `/v1/webhooks/${ID}/replay`, 'operate'],
      ['GET', '/v1/rules', 'read'],
      ['GET', '/v1/rules/x', 'read'],
      ['PUT', '/v1/rules/x', 'operate'],
      ['DELETE', '/v1/actions/x', 'operate'],
      ['GET', '/metrics', 'read'],
    ];
    const included: Record<TokenScope, TokenScope[]> = {
      read: ['read'],
      submit: ['submit'],
      work: ['work'],
      operate: ['operate', 'work', 'read'],
      command: ['command'],
      runner: ['runner'],
      admin: scopes,
    };
    for (const [method, url, needed] of routes) {
      const bare = await call(server, method, url);
      assert.equal(bare.statusCode, 401, `${method} ${url}`);
      assert.match(String(bare.headers['www-authenticate']), /^Bearer realm="heddle"$/);
      for (const scope of scopes) {
        const { statusCode, headers, body } = await call(server, method, url, `hdl_${scope}`);
        if (included[scope].includes(needed)) {
          assert.ok(statusCode !== 401 && statusCode !== 403, `${scope} must do ${method} ${url}, got ${statusCode}`);
        } else {
          assert.equal(statusCode, 403, `${scope} must not do ${method} ${url}`);
          assert.match(String(headers['www-authenticate']), new RegExp(`insufficient_scope.*scope="${needed}"`));
          assert.match((JSON.parse(body) as Problem).details[0]!, new RegExp(`requires the scope ${needed}`));
        }
      }
    }
    for (const open of ['/live', '/health', '/ready', '/v1/openapi.json']) {
      assert.equal((await call(server, 'GET', open)).statusCode, 200);
    }
    await server.app.close();
  });

  test('unknown, expired, malformed and revoked tokens are rejected, a revoked one within seconds', async () => {
    const clock = new VirtualClock();
    const server = await createTestServer({ clock, config: { authRequired: true } });
    const token = server.tokens.add('hdl_good', ['read']);
    server.tokens.add('hdl_brief', ['read'], { expires_at: clock.now() + 500 });
    const status = async (text: string): Promise<number> => (await call(server, 'GET', '/task', text)).statusCode;
    assert.equal(await status('hdl_good'), 200);
    assert.equal(await status('hdl_brief'), 200);
    assert.equal(await status('hdl_unknown'), 401);
    assert.equal(await status(''), 401);
    assert.equal(await status('x'.repeat(600)), 401);
    const basic = await server.app.inject({ url: '/task', headers: { authorization: 'Basic aGRsX2dvb2Q6' } });
    assert.equal(basic.statusCode, 401);
    assert.match(String(basic.headers['www-authenticate']), /invalid_token/);
    const reads = server.tokens.reads;
    for (let n = 0; n < 10; n += 1) await status('hdl_good');
    assert.equal(server.tokens.reads, reads, 'a token is not read for every request');
    assert.equal(server.tokens.touches, 2, 'use is recorded, but not for every request');
    await clock.advance(1000);
    assert.equal(await status('hdl_brief'), 401, 'an expiry holds at once');
    token.revoked_at = clock.now();
    await clock.advance(2000);
    assert.equal(await status('hdl_good'), 401);
    await server.app.close();
  });
});

describe('stored secrets of requests', () => {
  const headers = Object.fromEntries(
    ['X-Auth-Key', 'Ocp-Apim-Subscription-Key', 'X-Functions-Key', 'DD-APPLICATION-KEY', 'X-JWT', 'X-Session-Id'].map(
      (name) => [name, 's3cret'],
    ),
  );
  const params = { url: 'https://hooks.test/x?page=2&api%5Fkey=s3cret&code=s3cret', verb: 'Post', headers };
  const to = { webhook: params, slack: { url: 'https://slack.test/s3cret' } };
  const job = { id: newId(), name: 'nightly', created_at: 0, updated_at: 0, next_run_at: null } as Job;
  const letter = { queue: 'manager', reason: 'none', receive_count: 1, sent_at: 0, dead_lettered_at: 0 };

  test('are shown to those who may replace them, not to readers', async () => {
    const server = await createTestServer({
      config: { authRequired: true },
      jobs: { get: () => Promise.resolve({ ...job, workflow: { notify: [{ to }] } }) } as unknown as Jobs,
      queues: {
        listDead: () =>
          Promise.resolve([
            { ...letter, id: '1', body: JSON.stringify({ input: { to } }) },
            { ...letter, id: '2', body: 'POST /x?token=s3cret' },
          ]),
      } as unknown as Queues,
    });
    await server.definitions.put('action', 'tell', { kind: 'Webhook', params });
    for (const scope of ['read', 'operate'] as const) {
      server.tokens.add(`hdl_${scope}`, [scope]);
      for (const url of ['/v1/actions', '/v1/actions/tell', '/v1/jobs/nightly', '/v1/dead-letters']) {
        const { statusCode, body } = await call(server, 'GET', url, `hdl_${scope}`);
        assert.equal(statusCode, 200, body);
        assert.equal(body.includes('s3cret'), scope === 'operate', `${scope} ${url}: ${body}`);
        assert.match(body, /page=2/);
      }
    }
    await server.app.close();
  });
});

describe('handles', () => {
  test('a handle needs no token, only for its own task and methods, until a grace period after the end', async () => {
    const clock = new VirtualClock(1_767_225_600_000);
    const server = await createTestServer({ clock, config: { authRequired: true, handleGraceMs: 60_000 } });
    server.tokens.add('hdl_submit', ['submit', 'operate']);
    const created = await call(server, 'POST', '/task', 'hdl_submit', [task(), task()]);
    const [first, second] = created.json<{ id: string }[]>().map(({ id }) => id) as [string, string];
    server.stub.set(first, { state: 'running' });
    const url = handleUrl('', first, 1, HANDLE_KEY);
    const status = async (method: Method, target: string, payload?: object, token?: string): Promise<number> =>
      (await call(server, method, target, token, payload)).statusCode;

    assert.equal(await status('GET', url), 200);
    assert.equal(await status('PUT', url, { new_success: 1 }), 202);
    assert.equal(await status('PATCH', url, { new_success: 1 }), 200);
    assert.equal(await status('DELETE', url), 401, 'a handle does not cancel');
    assert.equal(await status('GET', url.replace(first, second)), 403, 'a handle of another task');
    assert.equal(await status('GET', url.replace('attempt=1', 'attempt=2')), 403);
    assert.equal(await status('GET', `${url}x`), 403);
    assert.equal(await status('GET', url, undefined, 'hdl_submit'), 200);
    assert.equal(await status('GET', `${url}x`, undefined, 'hdl_submit'), 403, 'a token does not heal a forged handle');
    for (const broken of [
      '?attempt=1',
      '?signature=abc',
      '?attempt=x&signature=abc',
      '?attempt=1&attempt=1&signature=a',
    ]) {
      assert.equal(await status('GET', `/task/${first}${broken}`), 403, broken);
    }

    server.stub.set(first, { attempt: 2 });
    assert.equal(await status('GET', url), 403);
    assert.equal(await status('PUT', url, { new_success: 1 }), 403);
    const stale = await call(server, 'PATCH', url, undefined, { status: 'Success' });
    assert.deepEqual([stale.statusCode, stale.json<Problem>().code], [403, 'INVALID_HANDLE']);

    const current = handleUrl('', first, 2, HANDLE_KEY);
    assert.equal(await status('PATCH', current, { status: 'Success' }), 200);
    assert.equal(await status('PATCH', current, { status: 'Success' }), 200);
    assert.equal(await status('PATCH', current, { status: 'Failure', failure_reason: 'x' }), 409);
    await clock.advance(61_000);
    assert.equal(await status('GET', current), 403);
    assert.equal(await status('PATCH', current, { status: 'Success' }), 403);
    await server.app.close();
  });
});
