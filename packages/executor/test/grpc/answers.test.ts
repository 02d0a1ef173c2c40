/** Answers as clients in other languages see them: statuses and trailers as on the page, and which answer is final. */
import assert from 'node:assert/strict';
import { connect, type IncomingHttpHeaders } from 'node:http2';
import { test, type TestContext } from 'node:test';

import { openGrpcListener } from '../../src/grpc/server.ts';
import { loadWire } from '../../src/grpc/wire.ts';
import type { RemoteManager } from '../../src/manager/port.ts';
import { REMOTE_CODES, RemoteFailure, type RemoteCode } from '../../src/protocol/codes.ts';
import { refusalPayload } from '../../src/protocol/refusal.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { readPage, tableRows } from '@heddle/test-support/docs/pages';
import { StandInManager, submit } from '../support/transports/stand-in-manager.ts';

interface Received {
  readonly trailers: IncomingHttpHeaders;
  readonly messages: readonly Buffer[];
}

/** Calls a listener of this manager once, with plain HTTP/2. */
async function call(t: TestContext, manager: RemoteManager, method: string, message: Buffer): Promise<Received> {
  const base = { host: '127.0.0.1', port: 0, tls: null, clock: systemClock, log: silentLogger };
  const listener = await openGrpcListener({ ...base, manager, limits: {} });
  t.after(() => listener.close(0));
  const session = connect(`http://127.0.0.1:${listener.address.port}`);
  t.after(() => session.destroy());
  const stream = session.request({
    ':method': 'POST',
    ':path': `/heddle.remote.v1.Executor/${method}`,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  let trailers: IncomingHttpHeaders = {};
  const take = (given: IncomingHttpHeaders): void => void (trailers = { ...trailers, ...given });
  stream.on('response', take).on('trailers', take);
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.end(framed(message));
  await new Promise((resolve, reject) => stream.once('close', resolve).once('error', reject));
  return { trailers, messages: unframed(Buffer.concat(chunks)) };
}

function framed(message: Buffer): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

function unframed(bytes: Buffer): Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 5 + bytes.readUInt32BE(at + 1))
    messages.push(bytes.subarray(at + 5, at + 5 + bytes.readUInt32BE(at + 1)));
  return messages;
}

/** Returns the status of each code according to the page. */
function statusesOnPage(): (code: RemoteCode) => number {
  const statuses = new Map<string, number>();
  for (const [status = '', text = ''] of tableRows(readPage('docs/executors/protocol.md'))) {
    const number = /^`[A-Z_]+` \((\d+)\)$/.exec(status)?.[1];
    const codes = text.split(';')[0]!.matchAll(/`([A-Z_]+)`/g);
    if (number !== undefined) for (const [, code] of codes) statuses.set(code!, Number(number));
    if (text.startsWith('every other code')) statuses.set('', Number(number));
  }
  assert.equal(statuses.size, 8);
  return (code) => statuses.get(code) ?? statuses.get('')!;
}

/** Rejects every request with this code, unsigned. */
function rejecting(code: RemoteCode, message: string): RemoteManager {
  return {
    health: () => new StandInManager().health(),
    handle: ({ request }) => {
      const payload = refusalPayload(new RemoteFailure(code, message), 0);
      const response = { ...request, correlation_id: '', sequence: 0, payload, mac: new Uint8Array(0) };
      return Promise.resolve({ response, code, pending: false, retryAfterSecs: 1.5 });
    },
  };
}

test('an unsigned error has the status of the page, and its code, answer and retry delay in the trailers', async (t) => {
  const wire = await loadWire();
  const statusOf = statusesOnPage();
  const request = wire.encodeRequest(submit('Echo', {}));
  for (const code of Object.keys(REMOTE_CODES) as RemoteCode[]) {
    const { trailers, messages } = await call(t, rejecting(code, 'not now'), 'Call', request);
    assert.deepEqual(
      [trailers['grpc-status'], decodeURIComponent(trailers['grpc-message'] as string), messages.length],
      [String(statusOf(code)), `${code}: not now`, 0],
    );
    assert.deepEqual([trailers['heddle-code'], trailers['retry-after']], [code, '2']);
    const answer = wire.decodeAnswer(Buffer.from(trailers['heddle-answer-bin'] as string, 'base64'));
    assert.deepEqual([answer.final, answer.response.mac.length], [true, 0]);
    assert.equal((JSON.parse(Buffer.from(answer.response.payload).toString()) as { code: string }).code, code);
  }
});

test('an answer that is too long for trailers is left out; status and code remain', async (t) => {
  const request = (await loadWire()).encodeRequest(submit('Echo', {}));
  const { trailers } = await call(t, rejecting('EXPIRED', 'x'.repeat(5_000)), 'Call', request);
  assert.deepEqual([trailers['heddle-code'], trailers['heddle-answer-bin']], ['EXPIRED', undefined]);
  assert.equal(trailers['grpc-status'], '16');
});

test('Watch marks progress as not final and the outcome as final; Call has only the outcome', async (t) => {
  const wire = await loadWire();
  for (const [method, expected] of [
    ['Watch', [false, false, true]],
    ['Call', [true]],
  ] as const) {
    const { trailers, messages } = await call(t, new StandInManager(), method, wire.encodeRequest(submit('Steps', {})));
    const final = messages.map((message) => wire.decodeAnswer(message).final);
    assert.deepEqual([trailers['grpc-status'], final], ['0', expected]);
  }
});
