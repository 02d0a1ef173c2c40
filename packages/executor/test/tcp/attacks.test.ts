import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { describe, it, type TestContext } from 'node:test';

import { openTcpTransport } from '../../src/tcp/client.ts';
import { openTcpListener } from '../../src/tcp/server.ts';
import type { TcpLimits } from '../../src/tcp/limits.ts';
import type { Listener } from '../../src/listener.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { eventually } from '@heddle/test-support/eventually';
import { descriptors, memoryInUse, startHealthy, type HealthyClient } from '../support/transports/healthy-client.ts';
import { opened, StandInManager, submit } from '../support/transports/stand-in-manager.ts';
import { certificates, quiet } from '../support/transports/suite.ts';
import { frameOf, RawConnection, rawFrame, u32 } from '@heddle/test-support/executor/tcp/raw-connection';

interface FrameAttack {
  readonly name: string;
  readonly send?: readonly ({ u32: number } | { text: string })[];
  readonly frame?: string;
  readonly frame_hex?: string;
  readonly frame_repeat?: readonly [string, string, number, string, string];
  readonly members?: Record<string, unknown>;
  /** Id in the answer; null if it cannot be determined. */
  readonly id?: number;
  readonly code?: string;
  readonly detail?: string;
  readonly stays_open?: boolean;
}

const ATTACKS = JSON.parse(
  readFileSync(new URL('frame-attacks.json', import.meta.url), 'utf8'),
) as readonly FrameAttack[];

function bytesOf(attack: FrameAttack): Buffer {
  if (attack.send !== undefined)
    return Buffer.concat(attack.send.map((part) => ('u32' in part ? u32(part.u32) : Buffer.from(part.text))));
  if (attack.frame !== undefined) return rawFrame(Buffer.from(attack.frame));
  if (attack.frame_hex !== undefined) return rawFrame(Buffer.from(attack.frame_hex, 'hex'));
  if (attack.frame_repeat !== undefined) {
    const [before, left, times, right, after] = attack.frame_repeat;
    return rawFrame(Buffer.from(before + left.repeat(times) + right.repeat(times) + after));
  }
  return frameOf(submit('Echo', {}), attack.members);
}

interface Setup {
  readonly manager: StandInManager;
  readonly listener: Listener;
  readonly healthy: HealthyClient;
  readonly port: number;
  readonly ca: string;
  readonly open: (localAddress?: string) => Promise<RawConnection>;
}

async function setUp(t: TestContext, limits: Partial<TcpLimits> = {}): Promise<Setup> {
  const { authority, server } = await certificates();
  const manager = new StandInManager();
  manager.remembers = false;
  const tls = { cert: server.pem, key: server.key, ca: null };
  const given = { manager, host: '127.0.0.1', port: 0, tls, limits, clock: systemClock, log: silentLogger };
  const listener = await openTcpListener(given);
  t.after(() => listener.close(0));
  const { port } = listener.address;
  const endpoint = { protocol: 'tcp' as const, host: '127.0.0.1', port, tls: true };
  const transport = openTcpTransport(endpoint, { ca: authority.pem }, { clock: systemClock });
  const healthy = startHealthy(t, transport);
  await healthy.assertServed();
  const open = async (localAddress?: string): Promise<RawConnection> => {
    const connection = await RawConnection.open(port, authority.pem, localAddress);
    t.after(() => connection.socket.destroy());
    return connection;
  };
  return { manager, listener, healthy, port, ca: authority.pem, open };
}

describe('attacks on frames', () => {
  it('returns the code of each, and closes the connection if it cannot be parsed', async (t) => {
    const { healthy, open } = await setUp(t);
    for (const attack of ATTACKS) {
      await t.test(attack.name, async () => {
        const connection = await open();
        connection.socket.write(bytesOf(attack));
        const { header, payload } = await connection.answer();
        assert.equal(header['id'], attack.id ?? null);
        assert.equal(header['final'], true);
        assert.equal(payload['status'], 'error');
        assert.equal(payload['code'], attack.code ?? 'MALFORMED');
        if (attack.detail !== undefined) assert.ok(JSON.stringify(payload['details']).includes(attack.detail));
        if (attack.stays_open === true) {
          const request = submit('Echo', { after: true });
          connection.socket.write(frameOf(request, { id: 2 }));
          assert.equal((await connection.answer(1)).header['id'], 2);
        } else {
          assert.equal(header['mac'], '');
          await connection.end();
        }
        assert.equal(connection.answers.length, attack.stays_open === true ? 2 : 1);
        connection.socket.destroy();
      });
    }
    await healthy.assertServed();
  });

  it('releases memory and descriptors', async (t) => {
    const { healthy, open, manager } = await setUp(t);
    const round = async (): Promise<void> => {
      const connections = await Promise.all(Array.from({ length: 40 }, () => open()));
      for (const [index, connection] of connections.entries()) {
        const attack = ATTACKS[index % ATTACKS.length]!;
        connection.socket.write(Buffer.concat([u32(4_000_000), u32(16_000), Buffer.alloc(1_000_000, 0x20)]));
        connection.socket.write(bytesOf(attack));
      }
      for (const connection of connections) connection.socket.destroy();
    };
    await round();
    const before = { memory: memoryInUse(), descriptors: descriptors() };
    for (let rounds = 0; rounds < 5; rounds += 1) await round();
    await eventually(() => descriptors() <= before.descriptors, 'all descriptors to be released');
    await eventually(() => memoryInUse() < before.memory + 8_000_000, 'memory to be released');
    assert.equal(manager.held.length, 0);
    await healthy.assertServed();
  });
});

describe('attacks on time', () => {
  it('closes connections whose header or payload arrives byte by byte', async (t) => {
    const { healthy, open } = await setUp(t, { header_ms: 2_000, body_ms: 2_000 });
    for (const [stage, start] of [
      ['header', 3],
      ['payload', frameOf(submit('Echo', {})).length - 30],
    ] as const) {
      const connection = await open();
      const frame = frameOf(submit('Echo', { filler: 'x'.repeat(100) }));
      connection.socket.write(frame.subarray(0, start));
      let at: number = start;
      const dripping = setInterval(() => connection.socket.write(frame.subarray(at, (at += 1))), 50);
      t.after(() => clearInterval(dripping));
      const { header, payload } = await connection.answer();
      clearInterval(dripping);
      assert.equal(header['id'], null);
      assert.match(JSON.stringify(payload['details']), new RegExp(`its ${stage} was not complete within 2000 ms`));
      await connection.end();
    }
    await healthy.assertServed();
  });

  it('closes connections that stall in the TLS handshake', async (t) => {
    const { healthy, port } = await setUp(t, { tls_handshake_ms: 2_000 });
    const sockets = Array.from({ length: 20 }, (_, index) => {
      const socket = connect({ host: '127.0.0.1', port });
      socket.on('error', () => undefined);
      // A record of a ClientHello that never follows.
      if (index % 2 === 0) socket.write(Buffer.from('16030102000100', 'hex'));
      t.after(() => socket.destroy());
      return socket.resume();
    });
    await Promise.all(sockets.map((socket) => once(socket, 'close')));
    await healthy.assertServed();
  });

  it('closes connections that do not speak TLS', async (t) => {
    const { healthy, port } = await setUp(t);
    const connection = await RawConnection.open(port, null);
    connection.socket.write(frameOf(submit('Echo', {})));
    await connection.end();
    assert.equal(connection.answers.length, 0);
    await healthy.assertServed();
  });

  it('closes connections that are half-closed within a frame', async (t) => {
    const { healthy, open, manager } = await setUp(t);
    for (const end of [2, 6, 100, frameOf(submit('Echo', {})).length - 1]) {
      const connection = await open();
      connection.socket.end(frameOf(submit('Echo', {})).subarray(0, end));
      await connection.end();
      assert.equal(connection.answers.length, 0);
    }
    assert.equal(manager.held.length, 0);
    await healthy.assertServed();
  });

  it('closes connections that are half-closed after a frame, without an answer; the manager continues', async (t) => {
    const { healthy, open, manager } = await setUp(t);
    const connection = await open();
    connection.socket.write(frameOf(submit('Hold', {})));
    await eventually(() => manager.held.length === 1, 'the request to be held');
    connection.socket.end();
    await connection.end();
    assert.equal(connection.answers.length, 0);
    assert.equal(manager.held.length, 1);
    manager.letGo();
    await healthy.assertServed();
  });

  it('closes idle connections, but not those waiting for a response', async (t) => {
    const { healthy, open, manager } = await setUp(t, { idle_ms: 2_000 });
    const waiting = await open();
    waiting.socket.write(frameOf(submit('Hold', {})));
    const idle = await open();
    await idle.end();
    assert.equal(waiting.closed, false);
    manager.letGo();
    assert.equal((await waiting.answer()).header['id'], 1);
    await waiting.end();
    await healthy.assertServed();
  });
});

describe('attacks on capacity', () => {
  it('keeps serving while thousands of connections are held from many addresses', async (t) => {
    const { healthy, port } = await setUp(t, { connections_max: 300, connections_per_address_max: 40 });
    const before = descriptors();
    let open = 0;
    for (let number = 0; number < 2_000; number += 1) {
      const localAddress = `127.0.${1 + (number % 60)}.7`;
      const socket = connect({ host: '127.0.0.1', port, localAddress });
      socket.on('connect', () => (open += 1));
      socket.on('error', () => undefined);
      socket.on('close', () => (open -= 1));
      t.after(() => socket.destroy());
      if (number % 50 === 49) await healthy.assertServed();
    }
    await eventually(() => open <= 300 && open > 0, 'the limit on held connections');
    // Both ends belong to this process.
    await eventually(() => descriptors() - before <= 2 * 300 + 20, 'the others to be released');
    await healthy.assertServed();
    const { authority } = await certificates();
    const endpoint = { protocol: 'tcp' as const, host: '127.0.0.1', port, tls: true };
    const newcomer = openTcpTransport(endpoint, { ca: authority.pem }, { clock: systemClock });
    t.after(() => newcomer.close());
    const request = submit('Echo', { newcomer: true });
    assert.deepEqual(opened(await newcomer.call(request, quiet), request)['result'], { newcomer: true });
  });

  it('limits connections per address, closing the oldest unproven one', async (t) => {
    const { healthy, open } = await setUp(t, { connections_per_address_max: 5 });
    const held: Awaited<ReturnType<typeof open>>[] = [];
    for (let number = 0; number < 5; number += 1) held.push(await open('127.0.0.9'));
    const newcomer = await open('127.0.0.9');
    await eventually(() => held[0]!.closed, 'the oldest to be closed');
    assert.deepEqual(
      [...held.slice(1), newcomer].map(({ closed }) => closed),
      [false, false, false, false, false],
    );
    await healthy.assertServed();
  });

  it('cuts a reader that never drains', async (t) => {
    const { healthy, open } = await setUp(t, { output_bytes_max: 1_000_000, output_ms: 2_000 });
    for (const bytes of [700_000, 4_000_000]) {
      const connection = await open();
      connection.socket.pause();
      for (let id = 1; id <= 30; id += 1) connection.socket.write(frameOf(submit('Big', { bytes }), { id }));
      // Only a reader sees the end; what counts is that the other side is gone.
      await eventually(() => {
        connection.socket.write(frameOf(submit('Echo', {}), { id: 99 }));
        return connection.socket.errored !== null || connection.closed;
      }, 'the connection to be cut');
    }
    await healthy.assertServed();
  });

  it('does not cut a slow reader', async (t) => {
    const { open } = await setUp(t, { output_ms: 1_000 });
    const connection = await open();
    connection.socket.pause();
    for (let id = 1; id <= 20; id += 1) connection.socket.write(frameOf(submit('Big', { bytes: 400_000 }), { id }));
    const sipping = setInterval(() => {
      connection.socket.resume();
      setImmediate(() => connection.socket.pause());
    }, 20);
    t.after(() => clearInterval(sipping));
    await connection.answer(19);
    assert.equal(connection.closed, false);
  });

  it('rejects an id that is already in flight', async (t) => {
    const { healthy, open, manager } = await setUp(t);
    const connection = await open();
    connection.socket.write(Buffer.concat([frameOf(submit('Hold', {})), frameOf(submit('Echo', {}))]));
    const { header, payload } = await connection.answer();
    assert.equal(header['id'], 1);
    assert.deepEqual(payload['details'], ['id: 1 is already in flight']);
    await connection.end();
    await eventually(() => manager.aborted === 1, 'the held request to be aborted');
    await healthy.assertServed();
  });

  it('limits the concurrent requests of a connection', async (t) => {
    const { healthy, open, manager } = await setUp(t, { in_flight_max: 8 });
    const connection = await open();
    for (let id = 1; id <= 50; id += 1) connection.socket.write(frameOf(submit('Hold', { id }), { id }));
    await eventually(() => manager.held.length === 8, 'eight to be accepted');
    await healthy.assertServed();
    assert.equal(manager.held.length, 8);
    const letting = setInterval(() => manager.letGo(), 5);
    t.after(() => clearInterval(letting));
    await connection.answer(49);
    assert.deepEqual(
      connection.answers.map(({ header }) => header['id']).sort((left, right) => Number(left) - Number(right)),
      Array.from({ length: 50 }, (_, index) => index + 1),
    );
  });

  it('limits the memory of incomplete requests, rejecting the largest holder', async (t) => {
    const { healthy, open } = await setUp(t, { partial_bytes_max: 8_000_000 });
    const connections = await Promise.all(Array.from({ length: 6 }, () => open()));
    const start = Buffer.concat([u32(4_200_000), u32(16_000), Buffer.alloc(2_000_000, 0x20)]);
    for (const connection of connections) connection.socket.write(start);
    await eventually(() => connections.some(({ answers }) => answers.length > 0), 'a rejection');
    const refused = connections.find(({ answers }) => answers.length > 0)!;
    assert.equal(refused.answers[0]!.payload['code'], 'QUEUE_FULL');
    await refused.end();
    await healthy.assertServed();
    assert.ok(connections.some(({ closed }) => !closed));
  });
});
