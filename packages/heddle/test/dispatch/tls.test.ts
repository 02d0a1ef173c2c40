import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { deliverOnce } from '../../src/dispatch/deliver.ts';
import { delivery, dependencies, LOOPBACK_POLICY } from '../support/dispatch/targets.ts';

const pem = (name: string): string =>
  readFileSync(new URL(`../support/dispatch/tls/hooks.example.${name}.pem`, import.meta.url), 'utf8');
// A self-signed certificate for hooks.example; its key protects only this test.
const cert = pem('cert');
const resolve = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]);

describe('targets behind TLS', () => {
  const names: (string | false)[] = [];
  const server = createServer({ cert, key: pem('key') }, (request, response) => {
    names.push((request.socket as unknown as { servername: string | false }).servername);
    response.end();
  });
  let port = 0;
  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  async function deliverTo(host: string, agentOptions: object, policy = LOOPBACK_POLICY) {
    const deps = dependencies({ policy, agentOptions: { resolve, ...agentOptions } });
    try {
      return await deliverOnce(delivery(`https://${host}:${port}/`), deps);
    } finally {
      await deps.close();
    }
  }

  it('are requested by name although the address was looked up here', async () => {
    const result = await deliverTo('hooks.example', { ca: cert });
    assert.equal(result.outcome, 'delivered');
    assert.deepEqual(names, ['hooks.example']);
  });

  it('must have a trusted certificate with their name', async () => {
    for (const [host, options] of [
      ['hooks.example', {}],
      ['other.example', { ca: cert }],
    ] as const) {
      const result = await deliverTo(host, options);
      assert.equal(result.outcome, 'retry');
      assert.match(result.error, /TLS failed/);
    }
    assert.equal(names.length, 1, 'nothing was sent');
  });

  it('are subject to the same address rules', async () => {
    const result = await deliverTo('hooks.example', { ca: cert }, { ...LOOPBACK_POLICY, allowLoopback: false });
    assert.equal(result.outcome, 'dead');
    assert.match(result.error, /resolves to a loopback address/);
  });
});
