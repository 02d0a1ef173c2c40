/** Names and origins that a server on loopback accepts, from its settings to its responses. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { json } from 'node:stream/consumers';

import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';

const NAMES = { HOST_URL: 'http://heddle.example', HEDDLE_ALLOWED_HOSTS: 'other.example' };
const TASK = [{ name: 'a', kind: 'from-a-page' }];

/** Unlike `fetch`, sends the given `Host`. */
function send(
  url: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: unknown,
): Promise<{ status: number; code: string | undefined }> {
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, url), { method, headers: { 'content-type': 'application/json', ...headers } });
    sent.on('error', reject).on('response', (response) => {
      const isJson = response.headers['content-type']?.includes('json') === true;
      const read = isJson ? json(response) : Promise.resolve(response.resume());
      read.then((answer) => {
        const { code } = answer as { code?: string };
        resolve({ status: response.statusCode!, code: isJson ? code : undefined });
      }, reject);
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

describe('a server on loopback without tokens', { concurrency: false }, () => {
  let heddle: Heddle;

  before(async () => {
    heddle = await startHeddle({ flags: NAMES });
  });

  after(() => heddle.stop());

  test('serves requests to the names of this machine, of HOST_URL and of HEDDLE_ALLOWED_HOSTS only', async () => {
    const { url } = heddle;
    const { port } = new URL(url);
    for (const host of [`127.0.0.1:${port}`, 'localhost', 'heddle.example', 'other.example:443']) {
      assert.equal((await send(url, 'GET', '/task', { host })).status, 200, host);
    }
    for (const host of ['evil.example', `evil.example:${port}`, 'heddle.example.evil.example']) {
      const refused = { status: 403, code: 'HOST_NOT_ALLOWED' };
      assert.deepEqual(await send(url, 'GET', '/task', { host }), refused, host);
      assert.deepEqual(await send(url, 'GET', '/metrics', { host }), refused, host);
      assert.deepEqual(await send(url, 'POST', '/task', { host }, TASK), refused, host);
    }
  });

  test('changes nothing for other origins, and accepts its own behind a proxy', async () => {
    const { url } = heddle;
    const trigger = (headers: Record<string, string>) => send(url, 'POST', '/v1/jobs/nightly/trigger', headers);
    for (const headers of [{ origin: 'http://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
      assert.deepEqual(await trigger(headers), { status: 403, code: 'CROSS_ORIGIN' });
    }
    for (const headers of [{}, { origin: url }, { origin: 'http://heddle.example' }]) {
      assert.equal((await trigger(headers)).status, 404);
    }
  });
});

test('a server that requires tokens serves its metrics, which need none, to its own names only', async () => {
  const heddle = await startHeddle({ flags: { HEDDLE_REQUIRE_TOKENS: '1' }, scopes: ['read'] });
  try {
    const { url } = heddle;
    assert.equal((await send(url, 'GET', '/metrics', {})).status, 200);
    const refused = { status: 403, code: 'HOST_NOT_ALLOWED' };
    assert.deepEqual(await send(url, 'GET', '/metrics', { host: 'evil.example' }), refused);
  } finally {
    await heddle.stop();
  }
});
