import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { TlsFault } from '../../src/tls/fault.ts';
import { Flight } from '../../src/tls/flight.ts';
import { ProbeKeys } from '../../src/tls/key-exchange.ts';
import { CONTENT_TYPE, HANDSHAKE_TYPE, READ_LIMITS } from '../../src/tls/protocol.ts';
import { seededRandom } from '@heddle/base/random';
import { makeCertificate } from '@heddle/test-support/certificates';
import { serveTls } from '@heddle/test-support/tls-servers';
import { fixedHello, recordFlight } from '../support/tls/flight-fixture.ts';

const keys = new ProbeKeys(seededRandom(1));
const leaf = await makeCertificate({ name: 'www.example.test' });

async function realFlight(t: TestContext, version: 'tls12' | 'tls13'): Promise<{ hello: Buffer; bytes: Buffer }> {
  const maxVersion = version === 'tls13' ? 'TLSv1.3' : 'TLSv1.2';
  const server = await serveTls(t, [leaf], { maxVersion, ALPNProtocols: ['h2'] }, Buffer.from('3003020100', 'hex'));
  const hello = fixedHello(keys);
  const isWhole = (bytes: Buffer): boolean => {
    try {
      return new Flight('certificates', hello, keys).push(bytes) === 'done';
    } catch {
      return true;
    }
  };
  return { hello, bytes: await recordFlight(server.port, hello, isWhole) };
}

function record(type: number, content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(type, 3, 3, content.length >> 8, content.length & 0xff), content]);
}

function message(type: number, length: number): Buffer {
  return Buffer.of(type, length >> 16, (length >> 8) & 0xff, length & 0xff);
}

for (const version of ['tls12', 'tls13'] as const) {
  test(`${version}: a flight reads the same however it is cut`, async (t) => {
    const { hello, bytes } = await realFlight(t, version);
    for (const size of [1, 2, 5, 7, 100, bytes.length]) {
      const flight = new Flight('certificates', hello, keys);
      let state = 'more';
      for (let at = 0; at < bytes.length && state === 'more'; at += size)
        state = flight.push(bytes.subarray(at, at + size));
      assert.equal(state, 'done', `${size} bytes at a time`);
      assert.equal(flight.server_hello?.version, version);
      assert.equal(flight.alpn, 'h2');
      assert.equal(flight.chain?.ocsp_stapled, true);
      assert.deepEqual(flight.chain.certificates, [leaf.der]);
    }
  });

  test(`${version}: 2,000 mutations of a real flight are answers or faults`, async (t) => {
    const { hello, bytes } = await realFlight(t, version);
    const random = seededRandom(42);
    const outcomes = { answers: 0, faults: 0 };
    for (let round = 0; round < 2000; round++) {
      const flight = new Flight('certificates', hello, keys);
      try {
        flight.push(mutated(bytes, () => random.next()));
        outcomes.answers += 1;
      } catch (error) {
        if (!(error instanceof TlsFault)) throw error;
        outcomes.faults += 1;
      }
    }
    assert.ok(outcomes.faults > 500 && outcomes.answers > 20, JSON.stringify(outcomes));
  });
}

/** Changes, removes or duplicates one to four bytes, or truncates the rest. */
function mutated(bytes: Buffer, next: () => number): Buffer {
  let result = Buffer.from(bytes);
  for (let count = 1 + Math.floor(next() * 4); count > 0; count--) {
    // Most of the structure is at the beginning.
    const at = Math.floor(next() ** 2 * result.length);
    const kind = next();
    if (kind < 0.6) result[at] = Math.floor(next() * 256);
    else if (kind < 0.75) result = Buffer.concat([result.subarray(0, at), result.subarray(at + 1)]);
    else if (kind < 0.9) result = Buffer.concat([result.subarray(0, at + 1), result.subarray(at)]);
    else result = result.subarray(0, at);
  }
  return result;
}

test('anything but TLS is reported with its beginning', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['HTTP/1.1 400 Bad Request\r\n\r\n', 'not TLS: HTTP: "HTTP/1.1 400 Bad Request"'],
    ['SSH-2.0-OpenSSH_9.2\r\n', 'not TLS: SSH: "SSH-2.0-OpenSSH_9.2"'],
    ['220 ready\u001b[2J\r\n', 'not TLS: "220 ready.[2J"'],
    ['\u0000\u0001', 'not TLS: ".."'],
  ];
  for (const [text, expected] of cases) {
    const flight = new Flight('hello', fixedHello(keys), keys);
    assert.throws(() => flight.push(Buffer.from(text, 'latin1')), { name: 'TlsFault', message: expected });
  }
});

test('alerts are named; a limited number of warnings is skipped', () => {
  const alert = (level: number, code: number): Buffer => record(CONTENT_TYPE.alert, Buffer.of(level, code));
  const named = (bytes: Buffer): (() => unknown) => {
    const flight = new Flight('hello', fixedHello(keys), keys);
    return () => flight.push(bytes);
  };
  assert.throws(named(alert(2, 40)), { kind: 'refused', message: 'alert: handshake_failure' });
  assert.throws(named(alert(2, 70)), { kind: 'refused', alert: 'protocol_version' });
  assert.throws(named(alert(2, 250)), { message: 'alert: alert_250' });
  assert.throws(named(alert(1, 0)), { message: 'alert: close_notify' });
  assert.equal(named(alert(1, 112))(), 'more');
  assert.throws(named(Buffer.concat(Array.from({ length: 40 }, () => alert(1, 112)))), { kind: 'malformed' });
});

test('the size of a handshake is limited', () => {
  const flightOf = (): Flight => new Flight('certificates', fixedHello(keys), keys);
  assert.throws(
    () => flightOf().push(record(CONTENT_TYPE.handshake, message(HANDSHAKE_TYPE.server_hello, 0xffffff))),
    /a handshake of more than 65536 bytes/,
  );
  const filler = record(CONTENT_TYPE.handshake, Buffer.concat([message(2, READ_LIMITS.handshake_bytes_max - 4)]));
  const more = record(CONTENT_TYPE.handshake, Buffer.alloc(16_384));
  assert.throws(() => flightOf().push(Buffer.concat([filler, more, more, more, more, more])), { name: 'TlsFault' });
  assert.throws(() => flightOf().push(Buffer.of(22, 3, 3, 0xff, 0xff)), /a record of 65535 bytes/);
  const empty = Array.from({ length: 100 }, () => record(CONTENT_TYPE.handshake, Buffer.alloc(0)));
  assert.throws(() => flightOf().push(Buffer.concat(empty)), /too many records without content/);
});
