import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';

import { parseWebhookSecret, verifyStandardWebhook } from '@heddle/base/signing';
import { eventually } from '@heddle/test-support/eventually';
import { DataDirectory, heddle, request } from '@heddle/test-support/app/heddle-process';

const data = DataDirectory.prepared();
after(() => data.dispose());

async function signingKeys(...flags: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await heddle(['config', 'signing-key', '--json', ...flags], data.environment);
  assert.equal(code, 0, stderr);
  return (JSON.parse(stdout) as { signing_keys: string[] }).signing_keys;
}

function verifies(call: { headers: IncomingHttpHeaders; body: string }, key: string): boolean {
  return verifyStandardWebhook(call.headers, call.body, [parseWebhookSecret(key)!], Date.now() / 1000);
}

test('receivers verify webhooks with the printed key, and with the new one soon after a rotation', async () => {
  const calls: { headers: IncomingHttpHeaders; body: string }[] = [];
  const target = createServer((incoming, answer) => {
    let body = '';
    incoming.on('data', (chunk: Buffer) => (body += chunk.toString()));
    incoming.on('end', () => {
      calls.push({ headers: incoming.headers, body });
      answer.end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(target, 'listening');
  const address = `http://127.0.0.1:${(target.address() as AddressInfo).port}/`;
  const run = data.up();
  const { url } = await run.ready();
  const on_start = { kind: 'Webhook', params: { url: address, verb: 'Post', body: { hello: 'world' } } };
  const call = async (): Promise<(typeof calls)[number]> => {
    const before = calls.length;
    await request(url, 'POST', '/task', { body: [{ name: 'signed', kind: 'k', on_start }] });
    return eventually(() => calls[before], 'the webhook');
  };

  const [old, ...none] = await signingKeys();
  assert.deepEqual(none, []);
  assert.ok(verifies(await call(), old!));
  const [fresh, ...rest] = await signingKeys('--rotate', '--overlap', '1h');
  assert.deepEqual(rest, [old]);
  await eventually(async () => verifies(await call(), fresh!), 'webhooks are signed with the new key');
  assert.ok(verifies(calls.at(-1)!, old!), 'the old key signs beside it');
  assert.equal(await run.end('SIGINT'), 0, run.stderr);
  target.close();
});
