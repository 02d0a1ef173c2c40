import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';

import { openXmlRpcListener } from '../../src/xmlrpc/server.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { StandInManager } from '../support/transports/stand-in-manager.ts';

const LIST = '<?xml version="1.0"?><methodCall><methodName>system.listMethods</methodName></methodCall>';

test('rejects web pages: neither DNS rebinding nor cross-origin requests work', async (t) => {
  const manager = new StandInManager();
  const given = { manager, host: '127.0.0.1', port: 0, tls: null, clock: systemClock, log: silentLogger };
  const listener = await openXmlRpcListener({ ...given, allowedHosts: ['executor.test'] });
  t.after(() => listener.close(0));
  const { port } = listener.address;
  const post = async (...headers: string[]): Promise<string> => {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    socket.setEncoding('utf8').on('data', (part: string) => (answer += part));
    socket.on('error', () => undefined);
    const length = `content-length: ${LIST.length}`;
    const head = ['POST /RPC2 HTTP/1.1', 'content-type: text/xml', 'connection: close', length, ...headers];
    socket.write(`${head.join('\r\n')}\r\n\r\n${LIST}`);
    await new Promise((resolve) => socket.once('close', resolve));
    return answer;
  };
  for (const host of [`127.0.0.1:${port}`, 'localhost', `[::1]:${port}`, 'executor.test'])
    assert.match(await post(`host: ${host}`), /^HTTP\/1.1 200 [^]*heddle\.submit/);
  for (const host of ['evil.test', `evil.test:${port}`, '127.0.0.1.evil.test', 'localhost.evil.test', '192.168.0.1']) {
    const answer = await post(`host: ${host}`);
    assert.match(answer, /^HTTP\/1.1 403 /);
    assert.doesNotMatch(answer, /heddle\.submit/);
  }
  for (const header of ['sec-fetch-site: cross-site', 'origin: http://localhost:1', 'origin: null'])
    assert.match(await post('host: localhost', header), /^HTTP\/1.1 403 /);
  assert.match(await post(`host: localhost:${port}`, `origin: http://localhost:${port}`), /^HTTP\/1.1 200 /);
});
