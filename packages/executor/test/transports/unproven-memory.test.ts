/** Verifies that attackers who never finish their requests share a memory limit and lock out no other caller. */
import assert from 'node:assert/strict';
import { connect as connectHttp2 } from 'node:http2';
import { test, type TestContext } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';

import type { ClientTransport } from '../../src/client/port.ts';
import { UnprovenMemory } from '../../src/unproven-memory.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { eventually } from '@heddle/test-support/eventually';
import { u32 } from '@heddle/test-support/executor/tcp/raw-connection';
import { opened, StandInManager, submit } from '../support/transports/stand-in-manager.ts';
import { certificates, quiet } from '../support/transports/suite.ts';
import { type Wire, WIRES } from '../support/transports/wires.ts';

const NAMES = Object.keys(WIRES) as Wire[];

const BYTES_MAX = 16 * 1024 * 1024;
const UNFINISHED_BYTES = 3 * 1024 * 1024;
const STRANGER = '127.0.0.77';

/** An attacker's connection with an incomplete request. */
const UNFINISHED: Record<Wire, (socket: TLSSocket, port: number) => void> = {
  tcp: (socket) => {
    socket.write(Buffer.concat([u32(UNFINISHED_BYTES + 1_000), u32(500), Buffer.alloc(UNFINISHED_BYTES, 0x20)]));
  },
  xmlrpc: (socket) => {
    const start = '<?xml version="1.0"?><methodCall><methodName>x</methodName><params><param><value><base64>';
    const head = `POST /RPC2 HTTP/1.1\r\nhost: x\r\ncontent-type: text/xml\r\ncontent-length: ${UNFINISHED_BYTES + 1_000}\r\n\r\n`;
    socket.write(head + start + 'A'.repeat(UNFINISHED_BYTES));
  },
  grpc: (socket, port) => {
    const session = connectHttp2(`https://127.0.0.1:${port}`, { createConnection: () => socket });
    session.on('error', () => undefined);
    const stream = session.request({
      ':method': 'POST',
      ':path': '/heddle.remote.v1.Executor/Call',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.on('error', () => undefined).resume();
    stream.write(Buffer.concat([Buffer.alloc(1), u32(UNFINISHED_BYTES + 1_000), Buffer.alloc(UNFINISHED_BYTES)]));
  },
};

interface Setup {
  readonly memory: UnprovenMemory;
  readonly strange: (wire: Wire) => TLSSocket;
  readonly newcomer: (wire: Wire) => ClientTransport;
}

async function setUp(t: TestContext): Promise<Setup> {
  const { authority, server } = await certificates();
  const memory = new UnprovenMemory(BYTES_MAX);
  const manager = new StandInManager();
  manager.remembers = false;
  const tls = { cert: server.pem, key: server.key, ca: null };
  const given = { manager, host: '127.0.0.1', port: 0, tls, clock: systemClock, log: silentLogger };
  const ports = {} as Record<Wire, number>;
  for (const wire of NAMES) {
    const listener = await WIRES[wire][0]({ ...given, unproven: { memory } });
    t.after(() => listener.close(0));
    ports[wire] = listener.address.port;
  }
  return {
    memory,
    strange: (wire) => {
      const at = { host: '127.0.0.1', port: ports[wire], localAddress: STRANGER, ca: authority.pem };
      const socket = connectTls({ ...at, ...(wire === 'grpc' ? { ALPNProtocols: ['h2'] } : {}) });
      socket.on('error', () => undefined);
      if (wire !== 'grpc') socket.resume();
      socket.once('secureConnect', () => UNFINISHED[wire](socket, ports[wire]));
      t.after(() => socket.destroy());
      return socket;
    },
    newcomer: (wire) => {
      const endpoint = { protocol: wire, host: '127.0.0.1', port: ports[wire], tls: true };
      const made = WIRES[wire][1](endpoint, { ca: authority.pem }, { clock: systemClock });
      t.after(() => made.close());
      return made;
    },
  };
}

for (const wire of NAMES) {
  test(`${wire}: incomplete requests share one limit across listeners, and large requests of others arrive`, async (t) => {
    const { memory, strange, newcomer } = await setUp(t);
    let most = 0;
    let ended = 0;
    const look = setInterval(() => (most = Math.max(most, memory.bytes)), 1);
    t.after(() => clearInterval(look));
    for (let round = 0; round < 4; round += 1) {
      for (const each of [wire, ...NAMES]) strange(each).once('close', () => (ended += 1));
    }
    await eventually(() => ended >= 16 - 5, 'the excess to be cut');
    assert.ok(memory.bytes > 0, 'the others to be held');
    for (const each of NAMES) {
      const request = submit('Echo', { filler: 'x'.repeat(3_500_000) });
      const answer = opened(await newcomer(each).call(request, quiet), request);
      assert.equal((answer['result'] as { filler: string }).filler.length, 3_500_000);
    }
    assert.ok(most <= BYTES_MAX, `${most} bytes were held`);
  });
}
