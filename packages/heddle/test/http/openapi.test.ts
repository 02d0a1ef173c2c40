import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Compile } from 'typebox/compile';
import type { TSchema } from 'typebox';

import { PoolWorld } from '@heddle/test-support/http/pool-world';
import { createTestServer, task, type TestServer } from '@heddle/test-support/http/server';
import { PLACES } from '../../src/http/routes/page.ts';

interface Operation {
  summary?: string;
  tags?: string[];
  security?: Record<string, string[]>[];
  requestBody?: { content: Record<string, { schema: TSchema }> };
  parameters?: { name: string; in: string }[];
  responses: Record<string, { description: string; content?: Record<string, { schema: TSchema }> }>;
}

interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { securitySchemes: Record<string, unknown> };
}

const world = new PoolWorld();
let server: TestServer;
let document: Document;
const routes: { method: string; url: string }[] = [];

before(async () => {
  server = await createTestServer({ pool: world.pool });
  world.pool.start();
  document = (await server.app.inject('/v1/openapi.json')).json<Document>();
  const printed = server.app.printRoutes({ commonPrefix: false, includeHooks: false });
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    for (const path of [...Object.keys(document.paths), ...PAGES]) {
      const url = path.replace(/\{(\w+)\}/g, ':$1');
      if (server.app.hasRoute({ method, url })) routes.push({ method, url: path });
    }
  }
  assert.ok(printed.length > 0);
});

after(async () => {
  await server.app.close();
  await world.pool.stop();
});

const PAGES = new Set(PLACES.flatMap((place) => (place === '/' ? ['/'] : [place, `${place}/*`])));

describe('the API description', () => {
  test('is OpenAPI 3.1 and has every route, with summary, responses, problems and security', () => {
    assert.equal(document.openapi, '3.1.0');
    assert.ok(document.components.securitySchemes.bearer);
    // Every served operation is documented: as many operations as routes, except those of the console.
    const operations = Object.values(document.paths).flatMap((path) => Object.keys(path));
    assert.equal(operations.length, routes.filter(({ url }) => !PAGES.has(url)).length);
    const served = server.app.printRoutes({ commonPrefix: false }).match(/\((?:[A-Z]+(?:, )?)+\)/g)!;
    const methods = served.flatMap((text) => text.slice(1, -1).split(', ')).filter((method) => method !== 'HEAD');
    assert.equal(methods.length, operations.length + PAGES.size);
    for (const { method, url } of routes) {
      if (PAGES.has(url)) continue;
      const operation = document.paths[url]?.[method.toLowerCase()];
      assert.ok(operation, `${method} ${url} is not documented`);
      assert.ok(operation.summary && operation.tags?.length === 1 && operation.security, `${method} ${url}`);
      for (const [, name] of url.matchAll(/\{(\w+)\}/g)) {
        assert.ok(operation.parameters?.some((parameter) => parameter.name === name && parameter.in === 'path'));
      }
      for (const status of ['400', '500']) {
        assert.ok(operation.responses[status]?.content?.['application/problem+json'], `${method} ${url} ${status}`);
      }
      assert.ok(
        Object.keys(operation.responses).some((status) => status.startsWith('2')),
        `${method} ${url}`,
      );
      if (operation.requestBody) {
        assert.ok(operation.responses['413'] && operation.responses['415'], `${method} ${url}`);
      }
    }
  });

  test('real responses match it', async () => {
    const webhook = {
      kind: 'Webhook',
      params: { url: 'https://example.com/', verb: 'Post', body: [1], headers: { a: 'b' } },
    };
    const rule = { type: 'Capacity', matcher: { kind: 'work', status: 'Running', fields: ['a'] }, max_capacity: 5 };
    const full = task({
      id: 'a',
      on_start: webhook,
      on_failure: [webhook],
      rules: [rule],
      expected_count: 5,
      dedupe_strategy: [{ kind: 'work', status: 'Pending', fields: ['a'] }],
      retry: { max_attempts: 2 },
    });
    const created = await check('POST', '/task', '/task', [full, task({ dependencies: [{ id: 'a' }] })]);
    const [{ id, batch_id }] = created.json<{ id: string; batch_id: string }[]>() as [{ id: string; batch_id: string }];
    await check('POST', '/task', '/task', []);
    await check('POST', '/task', '/task', [{}]);
    await check('GET', '/task', '/task');
    await check('GET', '/task', '/task?page=-1');
    await check('GET', '/task/{task_id}', `/task/${id}`);
    await check('GET', '/task/{task_id}', '/task/x');
    await check('GET', '/task/{task_id}', `/task/${id}?attempt=1&signature=x`);
    await check('GET', '/task/{task_id}', '/task/00000000-0000-7000-8000-000000000000');
    await check('PUT', '/task/{task_id}', `/task/${id}`, { new_success: 1 });
    await check('PATCH', '/task/{task_id}', `/task/${id}`, { metadata: {} });
    await check('PATCH', '/task/{task_id}', `/task/${id}`, { status: 'Success' });
    await check('PATCH', '/task/pause/{task_id}', `/task/pause/${id}`);
    await check('PATCH', '/task/resume/{task_id}', `/task/resume/${id}`);
    await check('DELETE', '/task/{task_id}', `/task/${id}`);
    await check('DELETE', '/task/{task_id}', `/task/${id}`);
    await check('GET', '/dag/{batch_id}', `/dag/${batch_id}`);
    await check('GET', '/v1/batches', '/v1/batches?open=true');
    await check('GET', '/v1/batches/{batch_id}', `/v1/batches/${batch_id}`);
    await check('DELETE', '/v1/batches/{batch_id}', `/v1/batches/${batch_id}`);
    await check('GET', '/v1/webhooks', '/v1/webhooks?state=dead');
    await check('PUT', '/v1/rules/{name}', '/v1/rules/r', rule);
    await check('GET', '/v1/rules', '/v1/rules');
    await check('GET', '/v1/rules/{name}', '/v1/rules/r');
    await check('DELETE', '/v1/rules/{name}', '/v1/rules/r');
    await check('GET', '/v1/rules/{name}', '/v1/rules/r');
    await check('PUT', '/v1/actions/{name}', '/v1/actions/a', webhook);
    await check('GET', '/v1/actions', '/v1/actions');
    await check('GET', '/v1/pool', '/v1/pool');
    await check('GET', '/v1/pool/classes', '/v1/pool/classes');
    await check('GET', '/v1/pool/history', '/v1/pool/history?hours=1');
    await check('GET', '/v1/pool/runners', '/v1/pool/runners?state=idle');
    await check('GET', '/v1/pool/requests', '/v1/pool/requests?state=granted');
    await check('POST', '/v1/pool/provision', '/v1/pool/provision', { requirements: { resource_class: 'large' } });
    await check('POST', '/v1/pool/provision', '/v1/pool/provision', { requirements: { resource_class: 'lrge' } });
    await check('POST', '/v1/pool/refresh', '/v1/pool/refresh');
    await check('GET', '/v1/pool/requests/{request_id}', `/v1/pool/requests/${id}`);
    await check('DELETE', '/v1/pool/requests/{request_id}', `/v1/pool/requests/${id}`);
    await check('GET', '/v1/pool/runners/{runner_id}', `/v1/pool/runners/${id}`);
    await check('POST', '/v1/pool/runners/{runner_id}/drain', `/v1/pool/runners/${id}/drain`);
    await check('GET', '/live', '/live');
    await check('GET', '/health', '/health');
    await check('GET', '/ready', '/ready');
    await check('GET', '/metrics', '/metrics');
    await check('GET', '/v1/openapi.json', '/v1/openapi.json');
  });

  test('responses of a pool with runners and requests match it', async () => {
    const [idle, held] = await world.arrive(2);
    const requirements = { resource_class: 'large', allowed_instance_types: ['a.*'], cpu: null };
    const granted = await check('POST', '/v1/pool/requests', '/v1/pool/requests', { requirements, holder: 'a test' });
    const { id, state } = granted.json<{ id: string; state: string }>();
    assert.equal(state, 'granted');
    await check('POST', '/v1/pool/requests', '/v1/pool/requests', { requirements: { resource_class: '16xl' } });
    const zero = { resource_class: 'large', usage_class: 'spot', created: 0, idle: 0, claimed: 0, running: 0 };
    world.samples = [{ at: Date.now(), ...zero, waiting: 1 }];
    const lists = ['runners', 'requests', 'requests?state=granted', 'history'];
    for (const list of lists) {
      const listed = await check('GET', `/v1/pool/${list.split('?')[0]!}`, `/v1/pool/${list}`);
      assert.ok(listed.json<unknown[]>().length > 0, list);
    }
    await check('GET', '/v1/pool', '/v1/pool');
    await check('GET', '/v1/pool/requests/{request_id}', `/v1/pool/requests/${id}`);
    await check('DELETE', '/v1/pool/requests/{request_id}', `/v1/pool/requests/${id}`);
    await check('GET', '/v1/pool/runners/{runner_id}', `/v1/pool/runners/${idle!}`);
    for (const verb of ['release', 'drain', 'terminate', 'release']) {
      await check('POST', `/v1/pool/runners/{runner_id}/${verb}`, `/v1/pool/runners/${held!}/${verb}`);
    }
  });
});

/** Sends a request and checks its body and its response against the document. */
async function check(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  url: string,
  payload?: unknown,
) {
  const response = await server.app.inject({
    method,
    url,
    ...(payload === undefined ? {} : { payload: payload as object }),
  });
  const what = `${method} ${url} ${response.statusCode}`;
  const operation = document.paths[path]![method.toLowerCase()]!;
  const documented = operation.responses[String(response.statusCode)];
  assert.ok(documented, `${what} is not documented: ${response.body}`);
  if (response.body === '') {
    assert.equal(documented.content, undefined, what);
    return response;
  }
  const type = String(response.headers['content-type']).split(';')[0]!;
  const schema = documented.content?.[type]?.schema;
  assert.ok(schema, `${what}: ${type} is not documented`);
  const value: unknown = type.endsWith('json') ? response.json() : response.body;
  const validator = Compile(schema);
  assert.ok(
    validator.Check(value),
    `${what}: ${JSON.stringify(validator.Errors(value))} ${response.body.slice(0, 500)}`,
  );
  if (payload !== undefined && response.statusCode < 400) {
    assert.ok(Compile(operation.requestBody!.content['application/json']!.schema).Check(payload), what);
  }
  return response;
}
