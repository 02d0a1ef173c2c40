/** What pages of other sites can do, in a real browser, to a loopback server that requires no token. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { connect, createServer as createRelay, type AddressInfo, type Server } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';

import type { Browser, Page } from 'playwright-core';

import type { Jobs } from '@heddle/core/engine/schedule/port';
import { createTestServer, type TestServer } from '@heddle/test-support/http/server';
import { launchBrowser } from '../support/web/browser.ts';

const ID = '00000000-0000-7000-8000-000000000000';
/** Of the real server: every name of the tests resolves to this machine. */
const answers: string[] = [];
let calls: string[] = [];
let server: TestServer;
let port: number;
let evil: Server;
let evilPort: number;
let browser: Browser;
let page: Page;

async function listen(listener: Server): Promise<number> {
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  return (listener.address() as AddressInfo).port;
}

before(async () => {
  browser = await launchBrowser(['--host-resolver-rules=MAP *.test 127.0.0.1']);
  const called = (name: string, result: unknown) => () => {
    calls.push(name);
    return Promise.resolve(result);
  };
  const jobs = { list: called('list', []), trigger: called('trigger', null), pause: called('pause', null) };
  server = await createTestServer({ jobs: jobs as unknown as Jobs, config: { allowedHosts: [] } });
  server.app.server.on('request', (request, response) =>
    response.on('finish', () => answers.push(`${request.method} ${request.url} ${response.statusCode}`)),
  );
  port = Number(new URL(await server.app.listen({ host: '127.0.0.1', port: 0 })).port);
  evil = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html', connection: 'close' }).end('<title>evil</title>');
  });
  evilPort = await listen(evil);
});

after(async () => {
  await browser.close();
  await server.app.close();
  await new Promise((resolve) => evil.close(resolve));
});

beforeEach(async () => {
  calls = [];
  answers.length = 0;
  page = await browser.newPage();
});

/** The statuses of the page's requests; `opaque` if it gets none, `refused` if the browser blocks it. */
function send(
  requests: readonly [method: string, url: string, mode: 'same-origin' | 'no-cors'][],
): Promise<(number | string)[]> {
  return page.evaluate(
    (all) =>
      Promise.all(
        all.map(async ([method, url, mode]) => {
          try {
            const response = await fetch(url, { method, mode });
            return response.type === 'opaque' ? 'opaque' : response.status;
          } catch {
            return 'refused';
          }
        }),
      ),
    requests.map(([...each]) => each),
  );
}

describe('a page of another site', () => {
  test('gets nothing through its own name that resolves to this machine', async (context) => {
    let address = evilPort;
    const relay = createRelay((socket) => {
      const target = connect(address, '127.0.0.1');
      socket.pipe(target).pipe(socket);
      for (const end of [socket, target]) end.on('error', () => undefined);
    });
    context.after(() => relay.close());
    const rebound = `http://rebinding.test:${await listen(relay)}`;
    await page.goto(rebound);
    address = port;
    assert.deepEqual(
      await send([
        ['GET', '/v1/jobs', 'same-origin'],
        ['GET', '/metrics', 'same-origin'],
        ['GET', '/v1/openapi.json', 'same-origin'],
        ['GET', `/v1/batches/${ID}/events`, 'same-origin'],
        ['POST', '/v1/jobs/nightly/trigger', 'same-origin'],
      ]),
      [403, 403, 403, 403, 403],
    );
    assert.deepEqual(calls, []);
  });

  test('changes nothing and follows nothing with cross-site requests that need no response', async () => {
    const own = `http://127.0.0.1:${port}`;
    for (const origin of ['http://evil.test', 'http://localhost']) {
      answers.length = 0;
      await page.goto(`${origin}:${evilPort}/`);
      await send([
        ['POST', `${own}/v1/jobs/nightly/trigger`, 'no-cors'],
        ['POST', `${own}/v1/jobs/nightly/pause`, 'no-cors'],
        ['GET', `${own}/v1/batches/${ID}/events`, 'no-cors'],
        ['GET', `${own}/v1/workflows/${ID}/events`, 'no-cors'],
      ]);
      assert.deepEqual([...answers].sort(), [
        `GET /v1/batches/${ID}/events 403`,
        `GET /v1/workflows/${ID}/events 403`,
        'POST /v1/jobs/nightly/pause 403',
        'POST /v1/jobs/nightly/trigger 403',
      ]);
    }
    assert.deepEqual(calls, []);
  });
});

test("the server's own page works as before", async () => {
  for (const host of ['127.0.0.1', 'localhost']) {
    await page.goto(`http://${host}:${port}/live`);
    await send([
      ['GET', '/v1/jobs', 'same-origin'],
      ['POST', '/v1/jobs/nightly/trigger', 'same-origin'],
    ]);
  }
  assert.deepEqual(calls.sort(), ['list', 'list', 'trigger', 'trigger']);
});
