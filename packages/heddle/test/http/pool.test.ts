import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, test } from 'node:test';

import { HeddleClient, type HeddleApiError } from '@heddle/client';
import { eventually } from '@heddle/test-support/eventually';
import { PoolWorld } from '@heddle/test-support/http/pool-world';
import { createTestServer, type Problem, type TestServer } from '@heddle/test-support/http/server';

let world: PoolWorld;
let server: TestServer;
let client: HeddleClient;

beforeEach(async () => {
  world = new PoolWorld();
  server = await createTestServer({ pool: world.pool, config: { authRequired: true } });
  server.tokens.add('reader', ['read']);
  server.tokens.add('operator', ['operate']);
  world.pool.start();
  const baseUrl = await server.app.listen({ host: '127.0.0.1', port: 0 });
  client = new HeddleClient({ baseUrl, token: 'operator' });
});

afterEach(async () => {
  await server.app.close();
  await world.pool.stop();
});

interface Answered<Body> {
  status: number;
  body: Body;
}

async function send<Body>(method: 'GET' | 'POST' | 'DELETE', url: string, payload?: object): Promise<Answered<Body>> {
  const headers = { authorization: 'Bearer operator' };
  const options = payload === undefined ? { method, url, headers } : { method, url, headers, payload };
  const response = await server.app.inject(options);
  return { status: response.statusCode, body: response.json<Body>() };
}

async function problem(method: 'GET' | 'POST' | 'DELETE', url: string, payload?: object): Promise<Problem> {
  const { status, body } = await send<Problem>(method, url, payload);
  assert.ok(status >= 400, `${method} ${url} answered ${status}`);
  assert.equal(body.status, status);
  return body;
}

const large = { resource_class: 'large' };

describe('the pool', () => {
  test('returns the number of runners, waiting requests, and the settings', async () => {
    await world.arrive(2);
    const [spot] = await world.launch(1, 'xlarge', 'spot');
    const held = await client.pool.hold({ requirements: { ...large }, holder: 'a build' });
    const pool = await client.pool.get();
    assert.equal(pool.backend, 'postgres');
    assert.equal(pool.provider, 'fake');
    const counts = pool.census.map(({ resource_class, usage_class, created, idle, claimed, waiting }) => [
      ...[resource_class, usage_class, created, idle, claimed, waiting],
    ]);
    assert.deepEqual(counts.toSorted(), [
      ['large', 'on-demand', 0, 1, 1, 0],
      ['xlarge', 'spot', 1, 0, 0, 0],
    ]);
    assert.equal(pool.settings.max_runners, 8);
    assert.equal(pool.settings.idle_secs, 300);
    assert.ok(pool.parts.some(({ name }) => name === 'serve requests'));
    assert.equal((await client.pool.runner(spot!)).usage_class, 'spot');
    assert.equal(held.state, 'granted');
  });

  test('returns its classes', async () => {
    const classes = await client.pool.classes();
    assert.deepEqual(classes[0], { name: 'large', cpu: 2, memory_mib: 4_096, min_idle: [] });
    assert.equal(classes.length, 7);
  });

  test('returns its history, of all classes or of one, for the given hours', async () => {
    const counts = { usage_class: 'spot', created: 0, idle: 1, claimed: 2, running: 3, waiting: 4 };
    const now = Date.now();
    world.samples = [
      { at: now - 5 * 3_600_000, resource_class: 'large', ...counts },
      { at: now - 60_000, resource_class: 'large', ...counts },
      { at: now - 60_000, resource_class: 'xlarge', ...counts },
    ];
    const all = await client.pool.history();
    assert.deepEqual(all[0], { at: new Date(now - 60_000).toISOString(), resource_class: 'large', ...counts });
    assert.equal(all.length, 2);
    assert.equal((await client.pool.history({ hours: 6, resource_class: 'large' })).length, 2);
    assert.match((await problem('GET', '/v1/pool/history?hours=100')).details[0]!, /^hours: /);
  });

  test('is refreshed', async () => {
    const refreshed = await client.pool.refresh();
    assert.deepEqual(refreshed.changes, ['the template was updated']);
    world.provider.broken = 'refresh';
    const { failures } = await client.pool.refresh();
    world.provider.broken = null;
    assert.match(failures.join('\n'), /cannot refresh now/);
  });

  test('requires the right scopes', async () => {
    const read = { authorization: 'Bearer reader' };
    const paths = ['', '/classes', '/history', '/runners', '/requests'];
    for (const path of paths) {
      const url = `/v1/pool${path}`;
      assert.equal((await server.app.inject({ url })).statusCode, 401, url);
      assert.equal((await server.app.inject({ url, headers: read })).statusCode, 200, url);
    }
    const id = randomUUID();
    const changes = [
      ['POST', '/v1/pool/provision', { requirements: large }],
      ['POST', '/v1/pool/requests', { requirements: large }],
      ['POST', '/v1/pool/refresh'],
      ['POST', `/v1/pool/runners/${id}/release`],
      ['POST', `/v1/pool/runners/${id}/drain`],
      ['POST', `/v1/pool/runners/${id}/terminate`],
      ['DELETE', `/v1/pool/requests/${id}`],
    ] as const;
    for (const [method, url, payload] of changes) {
      const response = await server.app.inject({
        method,
        url,
        headers: read,
        ...(payload === undefined ? {} : { payload }),
      });
      assert.equal(response.statusCode, 403, url);
    }
  });
});

describe('runners', () => {
  test('are launched manually, once for an id', async () => {
    const id = randomUUID();
    const first = await send<{ runner_ids: string[] }>('POST', '/v1/pool/provision', {
      id,
      requirements: { ...large, count: 2 },
    });
    assert.equal(first.status, 202);
    assert.equal(first.body.runner_ids.length, 2);
    const again = await client.pool.provision({ id, requirements: { ...large, count: 2 } });
    assert.deepEqual(again.runner_ids.toSorted(), first.body.runner_ids.toSorted());
    const other = { id, requirements: { resource_class: 'xlarge', count: 2 } };
    assert.equal((await send('POST', '/v1/pool/provision', other)).status, 422);
    await world.launched(again.runner_ids);
    const runners = await client.pool.runners({ state: 'created' });
    assert.deepEqual(runners.map((runner) => runner.id).sort(), again.runner_ids.toSorted());
    assert.equal(runners[0]!.instance_type, 'a.large');
    const more = await client.pool.provision({ requirements: { ...large, count: 20 } });
    assert.deepEqual([more.runner_ids.length, more.not_launched], [6, 14]);
    assert.match(more.reason!, /HEDDLE_POOL_MAX_RUNNERS/);
    const full = await problem('POST', '/v1/pool/provision', { requirements: large });
    assert.equal(full.code, 'CONFLICT');
  });

  test('with invalid requests are rejected, each fault by name', async () => {
    const requirements = { resource_class: 'lrge', usage_class: 'spot', cpu: 0, count: 1_001, colour: 'red' };
    const { code, details } = await problem('POST', '/v1/pool/provision', { requirements });
    assert.equal(code, 'VALIDATION_FAILED');
    for (const name of ['cpu', 'count', 'colour']) {
      assert.ok(
        details.some((detail) => detail.startsWith(`requirements.${name}`)),
        `${name}: ${details.join('; ')}`,
      );
    }
    const unknown = await problem('POST', '/v1/pool/requests', { requirements: { resource_class: 'lrge' } });
    assert.match(unknown.details[0]!, /^requirements\.resource_class: .*large/);
    const patterns = { ...large, allowed_instance_types: ['m7i.*', 'a b'] };
    const bad = await problem('POST', '/v1/pool/requests', { requirements: patterns });
    assert.match(bad.details[0]!, /^requirements\.allowed_instance_types\[1\]: /);
  });

  test('are listed by state and class, page by page; terminated ones on request', async () => {
    const ids = await world.arrive(3);
    const [other] = await world.launch(1, 'xlarge');
    await client.pool.terminate(ids[2]!);
    const idsOf = async (...words: Parameters<typeof client.pool.runners>) =>
      (await client.pool.runners(...words)).map(({ id }) => id).sort();
    assert.deepEqual(await idsOf(), [ids[0]!, ids[1]!, other!].sort());
    assert.deepEqual(await idsOf({ state: 'idle' }), ids.slice(0, 2).sort());
    assert.deepEqual(await idsOf({ resource_class: 'xlarge' }), [other]);
    assert.ok((await idsOf({ state: 'terminated', page_size: 100 })).includes(ids[2]!));
    const pages = [await idsOf({ page_size: 2 }), await idsOf({ page_size: 2, page: 1 })];
    assert.deepEqual(pages.flat().sort(), [ids[0]!, ids[1]!, other!].sort());
    assert.match((await problem('GET', '/v1/pool/runners?state=asleep')).details[0]!, /^state: /);
  });

  test('are released, drained and terminated; a repeat changes nothing, and an invalid change is rejected', async () => {
    const [id] = await world.arrive();
    const { id: request } = await client.pool.hold({ requirements: large });
    await world.confirm(id!);
    const running = await client.pool.runner(id!);
    assert.deepEqual([running.state, running.request_id, running.until], ['running', request, null]);
    const released = await client.pool.release(id!);
    assert.deepEqual([released.state, released.request_id, released.uses], ['idle', null, 1]);
    assert.equal((await client.pool.release(id!)).state, 'idle');
    assert.equal((await client.pool.request(request)).state, 'ended');

    await client.pool.hold({ requirements: large });
    const draining = await client.pool.drain(id!);
    assert.deepEqual([draining.state, draining.draining], ['claimed', true]);
    assert.equal((await client.pool.drain(id!)).draining, true);
    const ended = await client.pool.terminate(id!.toUpperCase());
    assert.deepEqual([ended.state, ended.reason, ended.until], ['terminated', 'terminated by a user', null]);
    assert.equal((await client.pool.terminate(id!)).state, 'terminated');
    const refused = await problem('POST', `/v1/pool/runners/${id!}/release`);
    assert.deepEqual([refused.code, refused.details], ['CONFLICT', ['runner_id: it has ended']]);
    const [coming] = await world.launch();
    assert.match((await problem('POST', `/v1/pool/runners/${coming!}/release`)).details[0]!, /it is not claimed/);
  });

  test('that do not exist are not found', async () => {
    const id = randomUUID();
    for (const verb of ['release', 'drain', 'terminate']) {
      const { code } = await problem('POST', `/v1/pool/runners/${id}/${verb}`);
      assert.equal(code, 'NOT_FOUND', verb);
    }
    assert.equal((await problem('GET', `/v1/pool/runners/${id}`)).code, 'NOT_FOUND');
    assert.match((await problem('GET', '/v1/pool/runners/one')).details[0]!, /^runner_id: /);
    assert.equal((await problem('GET', `/v1/pool/requests/${id}`)).code, 'NOT_FOUND');
    assert.equal((await problem('DELETE', `/v1/pool/requests/${id}`)).code, 'NOT_FOUND');
  });
});

describe('runners for external work', () => {
  test('are granted at once if idle, until they are released', async () => {
    const ids = await world.arrive(2);
    const held = await client.pool.hold({ requirements: { ...large, count: 2 }, holder: 'build 7', tenant: 'acme' });
    assert.equal(held.state, 'granted');
    assert.deepEqual(held.runners.map(({ id }) => id).sort(), ids.toSorted());
    assert.deepEqual([held.run, held.tenant, held.source, held.attempt], ['build 7', 'acme', 'holder', null]);
    assert.deepEqual(held.requirements, {
      ...large,
      ...{ usage_class: 'on-demand', allowed_instance_types: [], cpu: null, memory_mib: null, count: 2 },
    });
    const granted = await client.pool.requests({ state: 'granted' });
    assert.deepEqual(
      granted.map(({ id }) => id),
      [held.id],
    );
    const gone = await client.pool.letGo(held.id);
    assert.equal(gone.state, 'ended');
    assert.equal((await client.pool.letGo(held.id)).state, 'ended');
    assert.equal((await client.pool.runner(ids[0]!)).state, 'idle');
  });

  test('are awaited; a repeat with the same id awaits the same ones', async () => {
    const id = randomUUID();
    const asked = await client.pool.hold({ id, requirements: { ...large, count: 8 } });
    assert.deepEqual([asked.id, asked.state, asked.runners], [id, 'waiting', []]);
    const [listed] = await client.pool.requests();
    assert.equal(listed!.id, id);
    const waiting = client.pool.hold({ id: id.toUpperCase(), requirements: { ...large, count: 8 }, wait_secs: 60 });
    // Eight runners are launched for it and become ready.
    await eventually(async () => {
      for (const runner of await client.pool.runners({ state: 'created' })) {
        if (runner.provider_id !== null) await world.register(runner.id);
      }
      return (await client.pool.request(id)).state === 'granted';
    }, 'the request is granted');
    const granted = await waiting;
    assert.deepEqual([granted.id, granted.state, granted.runners.length], [id, 'granted', 8]);
    assert.equal((await client.pool.requests()).length, 0);
    const other = await problem('POST', '/v1/pool/requests', { id, requirements: large });
    assert.equal(other.code, 'IDEMPOTENCY_MISMATCH');
  });

  test('are withdrawn if the caller disconnects and no other one has their id', async () => {
    const hangsUp = new AbortController();
    const asking = client.pool.hold({ requirements: { resource_class: '12xl' }, wait_secs: 60 }, hangsUp.signal);
    const rejected = assert.rejects(asking);
    const waitsOf12xl = async (): Promise<number> =>
      (await client.pool.requests()).filter(({ requirements }) => requirements.resource_class === '12xl').length;
    await eventually(async () => (await waitsOf12xl()) === 1, 'the request waits');
    hangsUp.abort();
    await rejected;
    await eventually(async () => (await waitsOf12xl()) === 0, 'the request has ended');
    // The client opens another one for its next request.
    server.app.server.closeAllConnections();
  });

  test('that are not ready in time are still awaited', async () => {
    world.provider.troubles.push('capacity');
    const held = await client.pool.hold({
      requirements: { resource_class: '4xl' },
      wait_secs: 0.1,
      expires_secs: 3_600,
    });
    assert.equal(held.state, 'waiting');
    assert.ok(held.expires_at !== null && Date.parse(held.expires_at) > Date.parse(held.created_at));
    assert.equal((await client.pool.letGo(held.id)).state, 'ended');
  });

  test('that tasks requested cannot be released here', async () => {
    const id = await world.askForTask('8xl');
    const [listed] = await client.pool.requests();
    assert.deepEqual([listed!.id, listed!.source, listed!.attempt], [id, 'task', 1]);
    await assert.rejects(client.pool.letGo(id), (error: HeddleApiError) => error.code === 'CONFLICT');
  });

  test('are no longer awaited when the server stops', async () => {
    const short = await createTestServer({ pool: world.pool });
    const url = await short.app.listen({ host: '127.0.0.1', port: 0 });
    const waiter = new HeddleClient({ baseUrl: url });
    const id = randomUUID();
    const waiting = waiter.pool.hold({ id, requirements: { resource_class: '16xl' }, wait_secs: 60 });
    await eventually(async () => (await world.store.request(id)) !== null, 'the request is made');
    await short.app.close();
    assert.equal((await waiting).state, 'waiting');
  });
});
