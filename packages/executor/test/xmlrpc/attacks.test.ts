import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect } from 'node:tls';
import { describe, it, type TestContext } from 'node:test';

import type { Listener } from '../../src/listener.ts';
import { REMOTE_CODES, type RemoteCode } from '../../src/protocol/codes.ts';
import { openXmlRpcTransport } from '../../src/xmlrpc/client.ts';
import { failureOfFault } from '../../src/xmlrpc/faults.ts';
import { readDocument } from '../../src/xmlrpc/reader.ts';
import { openXmlRpcListener } from '../../src/xmlrpc/server.ts';
import type { XmlRpcLimits } from '../../src/xmlrpc/limits.ts';
import { readResponseStruct, requestStruct } from '../../src/xmlrpc/structs.ts';
import { writeCall } from '../../src/xmlrpc/writer.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { eventually } from '@heddle/test-support/eventually';
import { descriptors, memoryInUse, startHealthy, type HealthyClient } from '../support/transports/healthy-client.ts';
import { StandInManager, submit } from '../support/transports/stand-in-manager.ts';
import { certificates } from '../support/transports/suite.ts';

interface DocumentAttack {
  readonly name: string;
  readonly body?: string;
  readonly hex?: string;
  readonly repeat?: { readonly before: string; readonly text: string; readonly times: number; readonly after: string };
  /** Member omitted from a valid struct, and members added. */
  readonly without?: string;
  readonly members?: readonly (readonly [string, string])[];
  readonly code?: RemoteCode;
  readonly detail?: string;
  /** Code of a signed response; null for success. */
  readonly signed?: string | null;
}

interface HttpAttack {
  readonly name: string;
  readonly head: readonly string[];
  readonly body?: string;
  readonly status: number;
}

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'));
const DOCUMENTS = read('document-attacks.json') as readonly DocumentAttack[];
const HTTP = read('http-attacks.json') as readonly HttpAttack[];
const HEAD = 'POST /RPC2 HTTP/1.1\r\nhost: executor\r\ncontent-type: text/xml\r\n';

function bodyOf(attack: DocumentAttack): Buffer {
  if (attack.body !== undefined) return Buffer.from(attack.body);
  if (attack.hex !== undefined) return Buffer.from(attack.hex, 'hex');
  if (attack.repeat !== undefined) {
    const { before, text, times, after } = attack.repeat;
    return Buffer.from(before + text.repeat(times) + after);
  }
  let call = writeCall('heddle.submit', requestStruct(submit('Echo', {})));
  if (attack.without !== undefined)
    call = call.replace(new RegExp(`<member><name>${attack.without}</name>.*?</member>`), '');
  const added = (attack.members ?? []).map(
    ([name, value]) => `<member><name>${name}</name><value>${value}</value></member>`,
  );
  return Buffer.from(call.replace('</struct>', `${added.join('')}</struct>`));
}

function postOf(body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${HEAD}content-length: ${body.length}\r\n\r\n`), body]);
}

interface Post {
  readonly status: number;
  readonly body: string;
}

/** A connection with hand-written HTTP. */
class RawHttp {
  readonly socket: Socket;
  received = '';
  closed = false;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => (this.received += chunk.toString('latin1')));
    socket.on('error', () => undefined);
    socket.on('close', () => (this.closed = true));
  }

  /** Responses so far, each with a length. */
  get answers(): Post[] {
    const found: Post[] = [];
    for (let rest = this.received; ;) {
      const [, status, head = ''] = /^HTTP\/1\.1 (\d+) [^\r]*\r\n(.*?)\r\n\r\n/s.exec(rest) ?? [];
      if (status === undefined) return found;
      const start = rest.indexOf('\r\n\r\n') + 4;
      const chunked = /transfer-encoding: chunked/i.test(head);
      const length = chunked
        ? rest.indexOf('0\r\n\r\n', start) + 5 - start
        : Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (length < 0 || rest.length < start + length) return found;
      found.push({ status: Number(status), body: rest.slice(start, start + length) });
      rest = rest.slice(start + length);
    }
  }

  async answer(index = 0): Promise<Post> {
    return eventually(() => this.answers[index], `answer ${index}`);
  }

  async end(): Promise<void> {
    await eventually(() => this.closed, 'the connection to be closed');
  }
}

interface Setup {
  readonly manager: StandInManager;
  readonly listener: Listener;
  readonly healthy: HealthyClient;
  readonly port: number;
  readonly open: (localAddress?: string) => Promise<RawHttp>;
}

async function setUp(t: TestContext, limits: Partial<XmlRpcLimits> = {}): Promise<Setup> {
  const { authority, server } = await certificates();
  const manager = new StandInManager();
  manager.remembers = false;
  const tls = { cert: server.pem, key: server.key, ca: null };
  const given = { manager, host: '127.0.0.1', port: 0, tls, limits, clock: systemClock, log: silentLogger };
  const listener = await openXmlRpcListener(given);
  t.after(() => listener.close(0));
  const { port } = listener.address;
  const endpoint = { protocol: 'xmlrpc' as const, host: '127.0.0.1', port, tls: true };
  const transport = openXmlRpcTransport(endpoint, { ca: authority.pem }, { clock: systemClock });
  const healthy = startHealthy(t, transport);
  await healthy.assertServed();
  const open = async (localAddress = '127.0.0.1'): Promise<RawHttp> => {
    const options = { host: '127.0.0.1', port, localAddress };
    const socket = connect({ ...options, ca: authority.pem });
    const connection = new RawHttp(socket);
    await once(socket, 'secureConnect');
    t.after(() => socket.destroy());
    return connection;
  };
  return { manager, listener, healthy, port, open };
}

function assertFault(body: string, attack: DocumentAttack): void {
  const document = readDocument(Buffer.from(body, 'latin1'), { document_bytes_max: 1_000_000 });
  assert.ok(document.kind === 'fault');
  const code = attack.code ?? 'MALFORMED';
  assert.equal(document.code, REMOTE_CODES[code].number);
  assert.equal(failureOfFault(document.message).code, code);
  assert.ok(document.message.includes(attack.detail ?? ''), document.message);
}

function assertSigned(body: string, code: string | null): void {
  const document = readDocument(Buffer.from(body, 'latin1'), { document_bytes_max: 1_000_000 });
  assert.ok(document.kind === 'response');
  const { payload, mac } = readResponseStruct('submit', document.value);
  assert.equal(mac.length, 32);
  const said = JSON.parse(Buffer.from(payload).toString()) as { status: string; code?: string };
  assert.deepEqual([said.status, said.code], code === null ? ['success', undefined] : ['error', code]);
}

describe('attacks on documents', () => {
  it('returns the code of each', async (t) => {
    const { healthy, open } = await setUp(t);
    for (const attack of DOCUMENTS) {
      await t.test(attack.name, async () => {
        const connection = await open();
        connection.socket.write(postOf(bodyOf(attack)));
        const { status, body } = await connection.answer();
        assert.equal(status, 200);
        if (attack.signed === undefined) assertFault(body, attack);
        else assertSigned(body, attack.signed);
        connection.socket.destroy();
      });
    }
    await healthy.assertServed();
  });

  it('releases memory and descriptors', async (t) => {
    const { healthy, open } = await setUp(t);
    const bombs = DOCUMENTS.filter(({ repeat }) => repeat !== undefined);
    const round = async (): Promise<void> => {
      for (const bomb of bombs) {
        const connection = await open();
        connection.socket.write(postOf(bodyOf(bomb)));
        await connection.answer();
        connection.socket.destroy();
      }
    };
    await round();
    const before = { memory: memoryInUse(), descriptors: descriptors() };
    for (let rounds = 0; rounds < 3; rounds += 1) await round();
    await eventually(() => descriptors() <= before.descriptors, 'all descriptors to be released');
    await eventually(() => memoryInUse() < before.memory + 8_000_000, 'memory to be released');
    await healthy.assertServed();
  });
});

describe('attacks on HTTP', () => {
  it('returns the status of each, and closes', async (t) => {
    const { healthy, open, manager } = await setUp(t);
    manager.remembers = true;
    const served = manager.received.length;
    for (const attack of HTTP) {
      await t.test(attack.name, async () => {
        const connection = await open();
        const head = attack.head.join('\r\n').replace(/%(\d+)%/, (_, times) => 'x'.repeat(Number(times)));
        // The following bytes must not be handled as a separate request.
        const smuggled = postOf(
          Buffer.from(writeCall('heddle.submit', requestStruct(submit('Smuggled', { by: attack.name })))),
        );
        connection.socket.write(Buffer.concat([Buffer.from(`${head}\r\n\r\n${attack.body ?? ''}`), smuggled]));
        const { status } = await connection.answer();
        assert.equal(status, attack.status);
        await connection.end();
        assert.equal(connection.answers.length, 1);
      });
    }
    const events = manager.received.slice(served).map(({ request }) => Buffer.from(request.payload).toString());
    assert.deepEqual(
      events.filter((payload) => payload.includes('Smuggled')),
      [],
    );
    await healthy.assertServed();
  });

  it('answers pipelined requests in order, up to a limit', async (t) => {
    const { healthy, open, manager } = await setUp(t, { in_flight_max: 4 });
    const connection = await open();
    const post = postOf(Buffer.from(writeCall('heddle.submit', requestStruct(submit('Hold', {})))));
    connection.socket.write(Buffer.concat(Array.from({ length: 8 }, () => post)));
    await eventually(() => manager.held.length === 4, 'four to be accepted');
    await healthy.assertServed();
    manager.letGo();
    await connection.end();
    assert.deepEqual(
      connection.answers.map(({ status }) => status),
      [200, 200, 200, 200, 503],
    );
    assert.equal(manager.held.length, 0);
  });

  it('closes connections that send byte by byte', async (t) => {
    const { healthy, open } = await setUp(t, { header_ms: 2_000, body_ms: 2_000 });
    for (const start of [`${HEAD}x: `, `${HEAD}content-length: 1000\r\n\r\n<methodCall>`]) {
      const connection = await open();
      connection.socket.write(start);
      const dripping = setInterval(() => connection.socket.write(' '), 50);
      t.after(() => clearInterval(dripping));
      await connection.end();
      clearInterval(dripping);
      assert.equal(connection.answers[0]?.status, 408);
    }
    const chunked = await open();
    chunked.socket.write(`${HEAD}transfer-encoding: chunked\r\n\r\n`);
    const chunks = setInterval(() => chunked.socket.write('1\r\n \r\n'), 50);
    t.after(() => clearInterval(chunks));
    await chunked.end();
    await healthy.assertServed();
  });

  it('closes connections that are silent, stall in the handshake, or do not speak TLS', async (t) => {
    const { healthy, open, port } = await setUp(t, { header_ms: 2_000, tls_handshake_ms: 2_000, idle_ms: 2_000 });
    const silent = await open();
    const stalled = connectPlain({ host: '127.0.0.1', port });
    const plain = connectPlain({ host: '127.0.0.1', port });
    for (const socket of [stalled, plain]) socket.on('error', () => undefined).resume();
    plain.write(`${HEAD}content-length: 0\r\n\r\n`);
    stalled.write(Buffer.from('16030102000100', 'hex'));
    await Promise.all([silent.end(), once(stalled, 'close'), once(plain, 'close')]);
    await healthy.assertServed();
  });

  it('notifies the manager that a connection is gone', async (t) => {
    const { manager, open } = await setUp(t);
    const connection = await open();
    connection.socket.write(postOf(Buffer.from(writeCall('heddle.submit', requestStruct(submit('Hold', {}))))));
    await eventually(() => manager.held.length === 1, 'the task to be held');
    connection.socket.destroy();
    await eventually(() => manager.aborted === 1, 'the signal to abort');
  });

  it('cuts a reader that never drains', async (t) => {
    const { healthy, open } = await setUp(t, { output_ms: 2_000 });
    const connection = await open();
    connection.socket.pause();
    const big = writeCall('heddle.submit', requestStruct(submit('Big', { bytes: 6_000_000 })));
    connection.socket.write(postOf(Buffer.from(big)));
    await eventually(() => {
      connection.socket.write(' ');
      return connection.socket.errored !== null || connection.closed;
    }, 'the connection to be cut');
    await healthy.assertServed();
  });

  it('keeps serving while thousands of connections are held from many addresses', async (t) => {
    const { healthy, port } = await setUp(t, { connections_max: 300, connections_per_address_max: 40 });
    let open = 0;
    for (let number = 0; number < 2_000; number += 1) {
      const socket = connectPlain({ host: '127.0.0.1', port, localAddress: `127.0.${1 + (number % 60)}.8` });
      socket.on('connect', () => (open += 1));
      socket.on('error', () => undefined);
      socket.on('close', () => (open -= 1));
      t.after(() => socket.destroy());
      if (number % 50 === 49) await healthy.assertServed();
    }
    await eventually(() => open <= 300 && open > 0, 'the limit on held connections');
    await healthy.assertServed();
  });
});
