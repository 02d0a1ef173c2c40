import type { Socket } from 'node:net';

import { messageOf } from '@heddle/base/thrown';
import { TransportFailure } from '../client/port.ts';
import type { SignedRequest, SignedResponse } from '../protocol/envelope.ts';
import type { Call } from './call.ts';
import { type Frame, FrameReader } from './frames.ts';
import { type FramedResponse, ID_MAX, readResponse, requestHeader } from './header.ts';
import { Outbox } from './outbox.ts';

/** Abandoned calls still occupy the executor; at this number the connection is dropped. */
const ABANDONED_MAX = 24;

/** Client side of one connection: sends calls immediately and matches responses by id. */
export class ClientConnection {
  readonly #socket: Socket;
  readonly #reader: FrameReader;
  readonly #outbox: Outbox;
  readonly #onRoom: () => void;
  /** Calls by id; null if abandoned. */
  readonly #calls = new Map<number, Call | null>();
  readonly #ids = new Map<Call, number>();
  /** Calls not yet passed to the socket. */
  readonly #unsent = new Set<Call>();
  #nextId = 0;
  #abandoned = 0;
  #ended = false;

  /** @param onRoom called after each response and when the connection ends */
  constructor(socket: Socket, frameBytesMax: number, onRoom: () => void) {
    this.#socket = socket;
    this.#reader = new FrameReader(frameBytesMax);
    this.#outbox = new Outbox(socket, () => this.#unsent.clear());
    this.#onRoom = onRoom;
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('error', (error) => this.#end(`the connection failed: ${messageOf(error)}`, error));
    socket.on('end', () => this.#end('the executor closed the connection'));
    socket.once('close', () => this.#end('the connection was closed'));
    socket.unref();
  }

  /** Whether it accepts calls. */
  get isOpen(): boolean {
    return !this.#ended && this.#abandoned < ABANDONED_MAX;
  }

  get isEnded(): boolean {
    return this.#ended;
  }

  get inFlight(): number {
    return this.#calls.size;
  }

  /** Sends a call; it is settled by its response, the end of the connection, or `abandon`. */
  send(call: Call): void {
    if (this.#calls.size === 0) this.#socket.ref();
    const id = this.#newId();
    this.#calls.set(id, call);
    this.#ids.set(call, id);
    this.#unsent.add(call);
    const { token, traceparent, onProgress } = call.options;
    const header = requestHeader({
      id,
      request: call.request,
      token,
      traceparent,
      progress: onProgress !== undefined,
    });
    this.#outbox.add(header, call.request.payload);
  }

  /** Abandons a call. Returns false if it is not on this connection. */
  abandon(call: Call, reason: unknown): boolean {
    const id = this.#ids.get(call);
    if (id === undefined) return false;
    this.#ids.delete(call);
    this.#calls.set(id, null);
    this.#abandoned += 1;
    call.reject(new TransportFailure('the call was aborted', !this.#unsent.has(call), reason));
    this.#endIfOnlyAbandoned();
    return true;
  }

  destroy(): void {
    this.#end('the transport was closed');
  }

  #onData(chunk: Buffer): void {
    this.#reader.push(chunk);
    try {
      let frame: Frame | null;
      while (!this.#ended && (frame = this.#reader.next()) !== null) this.#take(readResponse(frame));
    } catch (error) {
      this.#end(`a response cannot be decoded: ${messageOf(error)}`, error);
    }
  }

  #take(framed: FramedResponse): void {
    if (framed.id === null) {
      this.#handleUnidentified(framed);
      return;
    }
    const call = this.#calls.get(framed.id);
    if (call === undefined) return;
    if (!framed.final) {
      if (call !== null) call.options.onProgress?.(responseTo(call.request, framed));
      return;
    }
    this.#calls.delete(framed.id);
    if (call === null) {
      this.#abandoned -= 1;
    } else {
      this.#ids.delete(call);
      call.resolve(responseTo(call.request, framed));
    }
    if (this.#calls.size === 0) this.#socket.unref();
    this.#endIfOnlyAbandoned();
    this.#onRoom();
  }

  /** Handles the rejection of an unidentified frame, which must be that of the only call in flight. */
  #handleUnidentified(framed: FramedResponse): void {
    const [only, ...others] = this.#ids.keys();
    if (only !== undefined && others.length === 0) {
      this.#ids.clear();
      only.resolve(responseTo(only.request, framed));
    }
    this.#end(`the executor rejected a frame: ${Buffer.from(framed.response.payload).toString('utf8', 0, 500)}`);
  }

  /** Drops the connection once only abandoned calls are left and there are too many of them. */
  #endIfOnlyAbandoned(): void {
    if (this.#abandoned >= ABANDONED_MAX && this.#calls.size === this.#abandoned) this.#end('all calls were abandoned');
  }

  #end(why: string, cause?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const call of this.#ids.keys()) call.reject(new TransportFailure(why, !this.#unsent.has(call), cause));
    this.#ids.clear();
    this.#calls.clear();
    this.#socket.destroy();
    this.#onRoom();
  }

  #newId(): number {
    do this.#nextId = this.#nextId >= ID_MAX ? 1 : this.#nextId + 1;
    while (this.#calls.has(this.#nextId));
    return this.#nextId;
  }
}

function responseTo(request: SignedRequest, { response }: FramedResponse): SignedResponse {
  return { ...response, method: response.method === '' ? request.method : response.method };
}
