import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { Banner } from '../../src/tcp/connect/banner.ts';
import type { ListenRequest } from '../support/tcp/listen-process.ts';
import { collect, endpointsOf, environmentOf, startListeners, tcpOptions } from '../support/tcp/scan-fixture.ts';

const IP = '127.77.0.6';

async function bannersOf(says: NonNullable<ListenRequest['says']>): Promise<(string | undefined)[]> {
  await using listeners = await startListeners({ ip: IP, ports: 10, says });
  const options = tcpOptions(endpointsOf(IP, listeners.ports), { banner: true });
  const records = await collect(options, environmentOf());
  assert.ok(records.every(({ state }) => state === 'open'));
  assert.equal(records.length, 10);
  return records.map(({ banner }) => banner);
}

describe('banners', () => {
  it('contain what a service sends by itself', async () => {
    assert.deepEqual(new Set(await bannersOf('greeting')), new Set(['SSH-2.0-Heddle_1.0\\r\\n']));
    assert.deepEqual(new Set(await bannersOf('goodbye')), new Set(['bye\\n']));
  });

  it('are escaped if not printable', async () => {
    const [banner] = await bannersOf('garbage');
    assert.ok(banner!.startsWith('\\x00\\x01\\x02\\x03\\x04\\x05\\x06\\x07\\x08\\t\\n\\x0b'));
    assert.ok(banner!.includes(' !"#$%&\'()*+,-./0123456789'));
    assert.ok(banner!.includes('[\\\\]'));
    assert.ok(
      banner!.endsWith('~\\x7f' + Array.from({ length: 128 }, (_, at) => `\\x${(at + 128).toString(16)}`).join('')),
    );
    assert.match(banner!, /^[\x20-\x7e]*$/);
  });

  it('of services that never stop end after 1,024 bytes', async () => {
    assert.deepEqual(new Set(await bannersOf('endless')), new Set(['x'.repeat(1024)]));
  });

  it('of silent services, or ones that hang up, are absent', async () => {
    assert.deepEqual(new Set(await bannersOf('nothing')), new Set([undefined]));
    assert.deepEqual(new Set(await bannersOf('reset')), new Set([undefined]));
  });

  it('of slow endless services end at their deadline', async () => {
    for (const banner of await bannersOf('trickle')) assert.match(banner!, /^\.+$/);
  });

  it('contain at most 1,024 bytes, however they arrive', () => {
    const banner = new Banner();
    assert.ok(banner.add(new Uint8Array(1000).fill(0x41)));
    assert.equal(banner.add(new Uint8Array(1000).fill(0x42)), false);
    assert.equal(banner.text(), 'A'.repeat(1000) + 'B'.repeat(24));
  });
});
