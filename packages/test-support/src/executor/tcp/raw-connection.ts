import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

import { appendFrame, FrameReader } from '@heddle/executor/internal/tcp/frames';
import { requestHeader } from '@heddle/executor/internal/tcp/header';
import type { SignedRequest } from '@heddle/executor/internal/protocol/envelope';
import { eventually } from '../../eventually.ts';

export interface RawAnswer {
  readonly header: Record<string, unknown>;
  readonly payload: Record<string, unknown>;
}

/** A raw connection that records what it receives. */
export class RawConnection {
  readonly socket: Socket;
  readonly answers: RawAnswer[] = [];
  readonly #reader = new FrameReader(64 * 1024 * 1024);
  closed = false;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.on('close', () => (this.closed = true));
    socket.on('data', (chunk: Buffer) => {
      this.#reader.push(chunk);
      for (let frame = this.#reader.next(); frame !== null; frame = this.#reader.next())
        this.answers.push({
          header: JSON.parse(frame.header.toString()) as Record<string, unknown>,
          payload: JSON.parse(frame.payload.toString()) as Record<string, unknown>,
        });
    });
  }

  /** @param ca null: without TLS */
  static async open(port: number, ca: string | null, localAddress = '127.0.0.1'): Promise<RawConnection> {
    const options = { host: '127.0.0.1', port, localAddress };
    const socket = ca === null ? connect(options) : connectTls({ ...options, ca });
    const connection = new RawConnection(socket);
    await once(socket, ca === null ? 'connect' : 'secureConnect');
    return connection;
  }

  async answer(index = 0): Promise<RawAnswer> {
    return eventually(() => this.answers[index], `answer ${index}`);
  }

  async end(): Promise<void> {
    await eventually(() => this.closed, 'the connection to be closed');
  }
}

/** Builds the frame of a request with replaced header members; null omits one. */
export function frameOf(request: SignedRequest, members: Record<string, unknown> = {}): Buffer {
  const header = { ...requestHeader({ id: 1, request, token: null, traceparent: null, progress: false }), ...members };
  const kept = Object.fromEntries(Object.entries(header).filter(([, value]) => value !== null));
  const out: Uint8Array[] = [];
  appendFrame(out, kept, request.payload);
  return Buffer.concat(out);
}

/** Builds a frame with these header bytes. */
export function rawFrame(header: Buffer, payload: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([u32(4 + header.length + payload.length), u32(header.length), header, payload]);
}

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
