/** Names by which requests may address the HTTP listeners of an executor. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, test } from 'node:test';

import { endpointOf, ExecutorSite, type Ready } from '../../support/app/executor/executor-process.ts';

const site = new ExecutorSite();
let ready: Ready;

before(async () => {
  await site.prepare();
  ready = await site.start({ HEDDLE_EXECUTOR_TIER: 'pooled', HEDDLE_ALLOWED_HOSTS: 'executor.example' });
});

after(() => site.dispose());

/** Unlike `fetch`, sends the given `Host`. */
function statusOf(protocol: 'http' | 'xmlrpc', method: string, path: string, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(endpointOf(ready, protocol));
    const sent = request({ host: '127.0.0.1', port, method, path, headers: { host } });
    sent.on('error', reject).on('response', (response) => {
      response.resume();
      resolve(response.statusCode!);
    });
    sent.end();
  });
}

test('are those of this machine and of HEDDLE_ALLOWED_HOSTS', async () => {
  for (const [protocol, method, path] of [
    ['http', 'GET', '/metrics'],
    ['xmlrpc', 'POST', '/RPC2'],
  ] as const) {
    for (const host of ['localhost', 'executor.example', 'executor.example:80']) {
      assert.notEqual(await statusOf(protocol, method, path, host), 403, `${protocol}: ${host}`);
    }
    assert.equal(await statusOf(protocol, method, path, 'evil.example'), 403, protocol);
  }
});
