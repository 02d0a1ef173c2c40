/** An attacker in a worker thread: repeats one of `stranger-attacks.json` until the thread is terminated. */
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

import { loadWire } from '../../../src/grpc/wire.ts';
import { requestStruct } from '../../../src/xmlrpc/structs.ts';
import { writeCall } from '../../../src/xmlrpc/writer.ts';
import { headerBombs, rapidReset } from '../grpc/rapid-reset.ts';
import { frameOf, u32 } from '@heddle/test-support/executor/tcp/raw-connection';
import { submit } from './stand-in-manager.ts';
import { STRANGER, type StrangerAttack, type StrangerWork } from './stranger-attack.ts';

const { attack, port } = workerData as StrangerWork;
const CALL = '/heddle.remote.v1.Executor/Call';
const REQUESTS_AT_ONCE = 64;
const DRIP_MS = 20;
const HEADERS = { ':method': 'POST', ':path': CALL, 'content-type': 'application/grpc', te: 'trailers' };

const forged = { ...submit('Echo', { filler: 'x'.repeat(attack.bytes ?? 0) }), mac: Buffer.alloc(32, 1) };
const wire = await loadWire();

/** Builds a complete request with an invalid MAC. */
function requestOf({ wire: name }: StrangerAttack): Buffer {
  if (name === 'tcp') {
    // Ids are free again once their request was rejected.
    const frames = Array.from({ length: REQUESTS_AT_ONCE }, (_, index) => frameOf(forged, { id: index + 1 }));
    return attack.bytes === undefined ? Buffer.concat(frames) : frames[0]!;
  }
  if (name === 'xmlrpc') return post(Buffer.from(writeCall('heddle.submit', requestStruct(forged))));
  return framed(Buffer.from(wire.encodeRequest(forged)));
}

function post(body: Buffer, length = body.length): Buffer {
  const head = `POST /RPC2 HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/xml\r\ncontent-length: ${length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

function framed(message: Buffer, length = message.length): Buffer {
  return Buffer.concat([Buffer.alloc(1), u32(length), message]);
}

/** Builds a request without its end. */
function unfinishedOf({ wire: name, bytes = 0 }: StrangerAttack): Buffer {
  const more = bytes + 1_000;
  if (name === 'tcp') return Buffer.concat([u32(more), u32(500), Buffer.alloc(bytes, 0x20)]);
  const document = '<?xml version="1.0"?><methodCall><methodName>x</methodName><params><param><value><base64>';
  if (name === 'xmlrpc') return post(Buffer.from(document + 'A'.repeat(bytes)), more + document.length);
  return framed(Buffer.alloc(bytes), more);
}

function open(): Socket {
  const socket = connect({ host: '127.0.0.1', port, localAddress: STRANGER });
  socket.setNoDelay(true).on('error', () => undefined);
  return socket;
}

/** Opens a connection, and another one whenever it ends. */
function again(speak: (socket: Socket) => void): void {
  const socket = open();
  socket.once('connect', () => speak(socket));
  socket.once('close', () => setImmediate(() => again(speak)));
}

function session(speak: (made: ClientHttp2Session) => void): void {
  const made = connectHttp2(`http://127.0.0.1:${port}`, { createConnection: open });
  made.on('error', () => undefined);
  made.once('connect', () => speak(made));
  made.once('close', () => setImmediate(() => session(speak)));
}

/** Makes concurrent calls, each followed by another one. */
function call(made: ClientHttp2Session, bytes: Buffer, isWhole: boolean): void {
  if (made.destroyed) return;
  const stream = made.request(HEADERS);
  stream.on('error', () => undefined).resume();
  if (isWhole) stream.end(bytes);
  else stream.write(bytes);
  stream.once('close', () => setImmediate(() => call(made, bytes, isWhole)));
}

function drip(socket: Socket, bytes: Buffer): void {
  socket.resume();
  let at = 0;
  const timer = setInterval(
    () => socket.write(bytes.subarray(at % bytes.length, (at % bytes.length) + 1), () => (at += 1)),
    DRIP_MS,
  );
  socket.once('close', () => clearInterval(timer));
}

function begin(): void {
  const isHttp2 = attack.wire === 'grpc';
  switch (attack.does) {
    case 'bad-macs': {
      const bytes = requestOf(attack);
      if (isHttp2) {
        session((made) => {
          for (let count = 0; count < REQUESTS_AT_ONCE; count += 1) call(made, bytes, true);
        });
      } else {
        again((socket) => {
          socket.on('data', () => socket.writableNeedDrain || socket.write(bytes));
          socket.write(bytes);
        });
      }
      return;
    }
    case 'unfinished': {
      const bytes = unfinishedOf(attack);
      if (isHttp2) session((made) => call(made, bytes, false));
      else again((socket) => void socket.resume().write(bytes));
      return;
    }
    case 'drip':
      again((socket) => drip(socket, isHttp2 ? rapidReset(CALL, { streams: 1 }) : requestOf(attack)));
      return;
    case 'resets':
      again((socket) => void socket.resume().write(rapidReset(CALL, { streams: 1_000 })));
      return;
    case 'hpack':
      again((socket) => void socket.resume().write(headerBombs(CALL, { streams: 30, times: 120 })));
      return;
    case 'connect':
      again((socket) => socket.resetAndDestroy());
      return;
  }
}

for (let count = 0; count < attack.connections; count += 1) begin();
parentPort!.postMessage('begun');
