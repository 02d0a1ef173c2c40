import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProbeProgress } from '../../src/options.ts';
import type { TlsRecord } from '../../src/records.ts';
import type { Endpoint, Pace } from '../../src/targets/port.ts';
import { scanTls } from '../../src/tls/scan.ts';
import { makeCertificate } from '@heddle/test-support/certificates';
import { eventually } from '@heddle/test-support/eventually';
import { answering, serveTcp, serveTls } from '@heddle/test-support/tls-servers';
import { collect, endpointsOf, environmentOf, optionsOf } from '../support/tls/fixture.ts';

const leaf = await makeCertificate({ name: 'www.example.test' });
const CLOSING = Buffer.of(21, 3, 3, 0, 2, 2, 80);

function many(count: number, port: number): Endpoint[] {
  return Array.from({ length: count }, (_, index) => ({
    host: `host-${index}.example.test`,
    ip: '127.0.0.1',
    family: 4 as const,
    port,
  }));
}

test('yields one record per endpoint, respects the concurrency, and leaves no connection open', async (t) => {
  let most = 0;
  const server = await serveTls(t, [leaf]);
  const progress: ProbeProgress[] = [];
  const endpoints = endpointsOf(many(300, server.port));
  const environment = environmentOf({ onProgress: (state) => progress.push(state) });
  const hosts = new Set<string>();
  for await (const record of scanTls(optionsOf({ endpoints, concurrency: 20 }), environment)) {
    most = Math.max(most, server.open);
    assert.equal(record.subject_cn, 'www.example.test');
    hosts.add(record.host);
  }
  assert.equal(hosts.size, 300);
  assert.ok(most <= 20, `${most} at once`);
  assert.deepEqual(progress.at(-1), { done: 300, total: 300, sent: 300, found: 300 });
  await server.idle();
});

test('starts nothing new while the consumer does not read', async (t) => {
  const server = await serveTcp(t, answering(CLOSING));
  const endpoints = endpointsOf(many(500, server.port));
  const options = optionsOf({ endpoints, concurrency: 4, certificates: false });
  const records = scanTls(options, environmentOf());
  await records.next();
  await server.idle();
  const settled = server.accepted;
  assert.ok(settled <= 2 * 4 * 2, `${settled} connections for one record that was read`);
  await records.return(undefined);
  assert.equal(server.accepted, settled);
});

test('ending the iteration closes open connections', async (t) => {
  const silent = await serveTcp(t, () => undefined);
  const quick = await serveTcp(t, answering(CLOSING));
  const [first, ...rest] = [...many(1, quick.port), ...many(30, silent.port)];
  const endpoints = endpointsOf([...rest, first!]);
  for await (const record of scanTls(optionsOf({ endpoints, concurrency: 31, timeoutMs: 60_000 }), environmentOf())) {
    assert.equal(record.port, quick.port);
    await eventually(() => silent.accepted === 30, 'all are connected');
    break;
  }
  await silent.idle();
});

test('a signal ends it with its reason, and no further connection is made', async (t) => {
  const silent = await serveTcp(t, () => undefined);
  const controller = new AbortController();
  const endpoints = endpointsOf(many(100, silent.port));
  const environment = environmentOf({ signal: controller.signal });
  const reading = collect(scanTls(optionsOf({ endpoints, concurrency: 16, timeoutMs: 60_000 }), environment));
  await eventually(() => silent.open === 16, 'the first are connected');
  const reason = new Error('enough');
  controller.abort(reason);
  await assert.rejects(reading, reason);
  await silent.idle();
  assert.equal(silent.accepted, 16);
  await assert.rejects(collect(scanTls(optionsOf({ endpoints }), environment)), reason);
});

test('a failing source fails the scan, and open connections are closed', async (t) => {
  const silent = await serveTcp(t, () => undefined);
  let calls = 0;
  const endpoints = {
    size: 100,
    next: async () => {
      calls += 1;
      if (calls === 1) return many(4, silent.port);
      await eventually(() => silent.open === 4, 'the first are connected');
      throw new Error('no more addresses');
    },
  };
  const options = optionsOf({ endpoints, concurrency: 8, timeoutMs: 60_000 });
  await assert.rejects(collect(scanTls(options, environmentOf())), /no more addresses/);
  await silent.idle();
});

test('each connection waits for the pace, including those of enumerations', async (t) => {
  const server = await serveTls(t, [leaf], { minVersion: 'TLSv1.2' });
  let taken = 0;
  let refused = 0;
  const observed: number[] = [];
  const pace: Pace = {
    rate: 1000,
    available: (max) => max,
    take(host) {
      assert.equal(host, '127.0.0.1');
      if ((taken + refused) % 2 === 0) return (refused += 1) && 1;
      taken += 1;
      return 0;
    },
    observe: (_sent, answered) => observed.push(answered),
  };
  const endpoints = endpointsOf(many(2, server.port));
  const options = optionsOf({ endpoints, versions: true, ciphers: true });
  const records: TlsRecord[] = await collect(scanTls(options, environmentOf({ pace })));
  assert.equal(records.length, 2);
  assert.equal(taken, server.accepted);
  assert.ok(refused > 0);
  assert.equal(observed.length, taken - 2, 'only hosts that answered before count');
  assert.ok(observed.every((answered) => answered === 1));
});

test('invalid options are reported', async () => {
  const options = optionsOf({ endpoints: endpointsOf([]), alpn: ['x'.repeat(256), ''], concurrency: 0, timeoutMs: 0 });
  await assert.rejects(collect(scanTls(options, environmentOf())), (error: Error & { details: string[] }) => {
    assert.deepEqual(
      error.details.map((detail) => detail.split(':')[0]),
      ['concurrency', 'timeoutMs', 'alpn', 'alpn'],
    );
    return true;
  });
});
