import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { PortRecord } from '../../src/records.ts';
import { createPace } from '../../src/targets/pace.ts';
import { scanTcp } from '../../src/tcp/scan.ts';
import { openSyn } from '../../src/tcp/syn/open-syn.ts';
import { systemClock } from '@heddle/base/clock';
import { systemRandom } from '@heddle/base/random';
import {
  collect,
  endpointsOf,
  environmentOf,
  openSockets,
  portsBetween,
  portsIn,
  scanElsewhere,
  startListeners,
  tcpOptions,
  untilSteady,
} from '../support/tcp/scan-fixture.ts';

const IP = '127.77.0.7';
const RANGE = portsBetween(20_000, 29_999);
const EVERY_ELEVENTH = RANGE.filter((port) => port % 11 === 0);

const access = await openSyn(systemRandom);
const skip = access.available ? false : `no SYN scan here: ${access.missing}`;
if (skip !== false) console.log(skip);

describe('SYN scan', { skip }, () => {
  it('finds each of hundreds of listeners, and nothing else', async () => {
    await using _listeners = await startListeners({ ip: IP, ports: EVERY_ELEVENTH });
    const environment = environmentOf();
    const records = await collect(tcpOptions(endpointsOf(IP, RANGE), { method: 'syn' }), environment);
    assert.deepEqual(portsIn(records, 'open'), EVERY_ELEVENTH);
    assert.equal(portsIn(records, 'closed').length, RANGE.length - EVERY_ELEVENTH.length);
    assert.equal(records.length, RANGE.length, 'each port once');
    assert.deepEqual(new Set(records.map(({ method }) => method)), new Set(['syn']));
    assert.deepEqual(new Set(records.map(({ reason }) => reason)), new Set(['syn-ack', 'rst']));
    assert.ok(records.every(({ rtt_ms }) => rtt_ms !== null && rtt_ms >= 0 && rtt_ms < 1000));
  });

  it('reports each of all 65,535 ports, including its own source ports, in one state', async () => {
    const records = await collect(
      tcpOptions(endpointsOf(IP, portsBetween(1, 65_535)), { method: 'syn' }),
      environmentOf(),
    );
    assert.equal(new Set(records.map(({ port }) => port)).size, 65_535);
    assert.equal(records.length, 65_535);
    assert.deepEqual(portsIn(records, 'filtered'), []);
  });

  it('scans IPv6 beside IPv4', async (t) => {
    const six = await startListeners({ ip: '::1', ports: 50 }).catch(() => null);
    if (six === null) {
      t.skip('this machine has no IPv6 loopback');
      return;
    }
    await using _six = six;
    await using four = await startListeners({ ip: IP, ports: 50 });
    const endpoints = [...endpointsOf('::1', [...six.ports, 1, 2, 3]), ...endpointsOf(IP, [...four.ports, 1, 2, 3])];
    const records = await collect(tcpOptions(endpoints, { method: 'syn' }), environmentOf());
    assert.equal(records.length, endpoints.length);
    const open = (ip: string): number[] =>
      portsIn(
        records.filter((record) => record.ip === ip),
        'open',
      );
    assert.deepEqual(
      open('::1'),
      six.ports.toSorted((a, b) => a - b),
    );
    assert.deepEqual(
      open(IP),
      four.ports.toSorted((a, b) => a - b),
    );
  });

  it('reads banners by connecting to open ports', async () => {
    await using listeners = await startListeners({ ip: IP, ports: 100, says: 'greeting' });
    const endpoints = endpointsOf(IP, [...listeners.ports, 1, 2, 3]);
    const before = openSockets();
    const records = await collect(tcpOptions(endpoints, { method: 'syn', banner: true }), environmentOf());
    const open = records.filter(({ state }) => state === 'open');
    assert.equal(open.length, 100);
    assert.ok(open.every(({ method, banner }) => method === 'syn' && banner === 'SSH-2.0-Heddle_1.0\\r\\n'));
    assert.equal(records.length, endpoints.length);
    assert.equal(openSockets(), before);
  });

  it('respects the pace', async () => {
    const pace = createPace({ clock: systemClock, rate: 1000, hostRate: Infinity });
    const startedAt = performance.now();
    await collect(tcpOptions(endpointsOf(IP, RANGE.slice(0, 400)), { method: 'syn' }), environmentOf({ pace }));
    const elapsedMs = performance.now() - startedAt;
    assert.ok(elapsedMs > 370, `400 packets at 1,000 a second in ${elapsedMs} ms`);
  });

  it('pauses while the consumer does not read, and resumes afterwards', async () => {
    const environment = environmentOf();
    const endpoints = endpointsOf(IP, portsBetween(1, 30_000));
    const iterator = scanTcp(tcpOptions(endpoints, { method: 'syn' }), environment);
    try {
      await iterator.next();
      await untilSteady(() => environment.progress.sent);
      const { done } = environment.progress;
      assert.ok(done >= 4096 && done <= 1 + 4096 + 2 * 256, `${done} are settled for a consumer that read one`);
      let read = 1;
      for await (const _ of iterator) read += 1;
      assert.equal(read, endpoints.length);
    } finally {
      await iterator.return();
    }
  });

  it('yields to the rest of the process', async () => {
    let turns = 0;
    let watching = true;
    const watch = (): void => {
      turns += 1;
      if (watching) setImmediate(watch);
    };
    watch();
    const options = tcpOptions(endpointsOf(IP, portsBetween(1, 65_535)), { method: 'syn', states: ['open'] });
    await collect(options, environmentOf()).finally(() => (watching = false));
    assert.ok(turns > 16, `65,535 packets went out in ${turns} turns of the event loop`);
  });

  it('leaves no socket behind, wherever it is aborted', async () => {
    const before = openSockets();
    const endpoints = endpointsOf(IP, portsBetween(1, 65_535));
    for (let round = 0; round < 25; round++) {
      const aborting = new AbortController();
      const reason = new Error(`enough of round ${round}`);
      const records: PortRecord[] = [];
      const stop = (): void => aborting.abort(reason);
      const options = tcpOptions(endpoints, { method: 'syn' });
      const scan = (async () => {
        for await (const record of scanTcp(options, environmentOf({ signal: aborting.signal }))) {
          if (records.push(record) === round * 1000) stop();
        }
      })();
      if (round === 0) setImmediate(stop);
      await assert.rejects(scan, (error) => error === reason);
      assert.equal(openSockets(), before, `round ${round}`);
    }
    for await (const _ of scanTcp(tcpOptions(endpoints, { method: 'syn' }), environmentOf())) break;
    assert.equal(openSockets(), before);
  });
});

describe('the method', () => {
  const targets = [{ ip: IP, ports: [1, 2, 3] }];
  /** An unprivileged user; only needed if this process is root. */
  const rights = process.getuid?.() === 0 ? { uid: 65_534 } : {};

  it('reports the fallback to connections', async () => {
    const { records, notices } = await scanElsewhere({ targets, options: { method: 'auto' } }, [], rights);
    assert.deepEqual(new Set(records.map(({ method }) => method)), new Set(['connect']));
    assert.match(notices.join('\n'), /full connections.*(CAP_NET_RAW|koffi|require Linux|64-bit)/);
  });

  it('is rejected with what is missing if SYN is requested but not possible', async () => {
    const { records, error } = await scanElsewhere({ targets, options: { method: 'syn' } }, [], rights);
    assert.deepEqual(records, []);
    assert.equal(error?.code, 'VALIDATION_FAILED');
    assert.match(error.message, /SYN scan is not possible: .*(CAP_NET_RAW|koffi|require Linux|64-bit)/);
  });

  it('is SYN where permitted', { skip }, async () => {
    const records = await collect(tcpOptions(endpointsOf(IP, [1, 2, 3]), { method: 'auto' }), environmentOf());
    assert.deepEqual(new Set(records.map(({ method }) => method)), new Set(['syn']));
  });
});
