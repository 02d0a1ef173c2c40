import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';

import type { PortRecord } from '../../src/records.ts';
import { createPace } from '../../src/targets/pace.ts';
import { scanTcp } from '../../src/tcp/scan.ts';
import { systemClock } from '@heddle/base/clock';
import { eventually } from '@heddle/test-support/eventually';
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

/** A loopback address without other listeners. */
const IP = '127.77.0.5';
const RANGE = portsBetween(20_000, 24_999);
const EVERY_NINTH = RANGE.filter((port) => port % 9 === 0);

/** With banners, connections use Node's sockets; otherwise, with koffi, system calls. */
const WAYS = [
  { way: "Node's sockets", banner: true },
  { way: 'system calls', banner: false },
];

for (const { way, banner } of WAYS)
  describe(`connect scan with ${way}`, () => {
    it('finds each of hundreds of listeners, and nothing else', async () => {
      await using _listeners = await startListeners({ ip: IP, ports: EVERY_NINTH, says: 'goodbye' });
      const environment = environmentOf();
      const records = await collect(tcpOptions(endpointsOf(IP, RANGE), { banner }), environment);
      assert.deepEqual(portsIn(records, 'open'), EVERY_NINTH);
      assert.equal(records.length, RANGE.length, 'each port once');
      assert.equal(portsIn(records, 'closed').length, RANGE.length - EVERY_NINTH.length);
      assert.deepEqual(
        { ...environment.progress, sent: 0 },
        {
          done: RANGE.length,
          total: RANGE.length,
          sent: 0,
          found: EVERY_NINTH.length,
        },
      );
      const open = records.find(({ state }) => state === 'open')!;
      assert.equal(open.method, 'connect');
      assert.equal(open.reason, 'connected');
      assert.ok(open.rtt_ms !== null && open.rtt_ms > 0 && open.rtt_ms < 10_000);
      assert.match(open.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    });

    it('scans IPv6, and reports only the requested states', async (t) => {
      const listeners = await startListeners({ ip: '::1', ports: 20, says: 'goodbye' }).catch(() => null);
      if (listeners === null) {
        t.skip('this machine has no IPv6 loopback');
        return;
      }
      await using _listeners = listeners;
      const endpoints = endpointsOf('::1', [...listeners.ports, 1, 2, 3]);
      const records = await collect(tcpOptions(endpoints, { states: ['open'], banner }), environmentOf());
      assert.deepEqual(
        portsIn(records, 'open'),
        listeners.ports.toSorted((a, b) => a - b),
      );
      assert.equal(records.length, listeners.ports.length);
    });

    it('retries silent ports, then reports them filtered; nearby hosts have short timeouts', async () => {
      const worker = new Worker(new URL('../support/tcp/stuck-listener.ts', import.meta.url));
      try {
        const port = await new Promise<number>((resolve) => worker.once('message', resolve));
        const held = Array.from({ length: 4 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
        await eventually(() => held.filter((socket) => !socket.connecting).length >= 2, 'its queue is full');
        const environment = environmentOf();
        const startedAt = performance.now();
        // One after the other, so that the first answer of the host sets its timeout.
        const options = tcpOptions(endpointsOf('127.0.0.1', [1, port]), { concurrency: 1, timeoutMs: 60_000, banner });
        const records = await collect(options, environment);
        for (const socket of held) socket.destroy();
        const silent = records.find((record) => record.port === port)!;
        assert.deepEqual([silent.state, silent.reason, silent.rtt_ms], ['filtered', 'no-response', null]);
        assert.equal(environment.progress.sent, 1 + 3, 'one answering port, three attempts at the other');
        const elapsedMs = performance.now() - startedAt;
        assert.ok(elapsedMs > 650 && elapsedMs < 30_000, `100, 200 and 400 ms are enough for it, not ${elapsedMs}`);
      } finally {
        await worker.terminate();
      }
    });

    it('respects the pace', async () => {
      const pace = createPace({ clock: systemClock, rate: 1000, hostRate: Infinity });
      const startedAt = performance.now();
      await collect(tcpOptions(endpointsOf(IP, RANGE.slice(0, 400)), { banner }), environmentOf({ pace }));
      const elapsedMs = performance.now() - startedAt;
      assert.ok(elapsedMs > 370, `400 connections at 1,000 a second in ${elapsedMs} ms`);
    });

    it('pauses while the consumer does not read, and resumes afterwards', async () => {
      const environment = environmentOf();
      const endpoints = endpointsOf(IP, portsBetween(1, 20_000));
      const iterator = scanTcp(tcpOptions(endpoints, { banner }), environment);
      try {
        await iterator.next();
        await untilSteady(() => environment.progress.sent);
        const { done } = environment.progress;
        assert.ok(done >= 4096 && done <= 1 + 4096 + 128, `${done} are settled for a consumer that read one`);
        let read = 1;
        for await (const _ of iterator) read += 1;
        assert.equal(read, endpoints.length);
      } finally {
        await iterator.return();
      }
    });

    it('rejects with the error of its source', async () => {
      const broken = { size: 1, next: () => Promise.reject(new Error('no names today')) };
      await assert.rejects(collect(tcpOptions([], { endpoints: broken }), environmentOf()), /no names today/);
    });

    it('backs off at the limit of open files, reports it, and misses nothing', async () => {
      await using _listeners = await startListeners({ ip: IP, ports: EVERY_NINTH.slice(0, 100), says: 'greeting' });
      const ports = RANGE.slice(0, 1000);
      const limited = ['sh', '-c', 'ulimit -n 64; exec "$@"', 'sh'];
      const targets = [{ ip: IP, ports }];
      const { records, notices } = await scanElsewhere({ targets, options: { concurrency: 500, banner } }, limited);
      assert.deepEqual(
        portsIn(records, 'open'),
        ports.filter((port) => port % 9 === 0 && port <= EVERY_NINTH[99]!),
      );
      assert.deepEqual(portsIn(records, 'filtered'), []);
      // System calls return at once on loopback, so there are never many sockets.
      if (banner) assert.match(notices.join('\n'), /limit of open files/);
    });
  });

describe('the end of a connect scan', () => {
  it('leaves no socket behind, wherever it is aborted', async () => {
    await using listeners = await startListeners({ ip: IP, ports: 60, says: 'trickle' });
    const before = openSockets();
    const endpoints = endpointsOf(
      IP,
      RANGE.flatMap((port, at) => (at % 16 === 0 && at / 16 < 60 ? [listeners.ports[at / 16]!, port] : [port])),
    );
    for (let round = 0; round < 25; round++) {
      const aborting = new AbortController();
      const reason = new Error(`enough of round ${round}`);
      const records: PortRecord[] = [];
      const options = tcpOptions(endpoints, { banner: round % 2 === 0, retries: 1 });
      const stop = (): void => aborting.abort(reason);
      const scan = (async () => {
        for await (const record of scanTcp(options, environmentOf({ signal: aborting.signal }))) {
          if (records.push(record) === round * 40) stop();
        }
      })();
      if (round === 0) setImmediate(stop);
      await assert.rejects(scan, (error) => error === reason);
      assert.equal(openSockets(), before, `round ${round}`);
    }
  });

  it('leaves no socket behind when its consumer stops', async () => {
    await using listeners = await startListeners({ ip: IP, ports: 50, says: 'trickle' });
    const before = openSockets();
    const options = tcpOptions([...endpointsOf(IP, RANGE), ...endpointsOf(IP, listeners.ports)]);
    for await (const _ of scanTcp(options, environmentOf())) break;
    assert.equal(openSockets(), before);
  });
});
