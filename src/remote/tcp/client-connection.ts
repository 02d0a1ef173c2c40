import type { Socket } from 'node:net';

import { TransportFailure } from '../client/port.ts';
import { messageOf } from '../connect.ts';
import type { SignedRequest, SignedResponse } from '../protocol/envelope.ts';
import type { Call } from './call.ts';
import { type Frame, FrameReader } from './frames.ts';
import { type FramedResponse, ID_MAX, readResponse, requestHeader } from './header.ts';
import { Outbox } from './outbox.ts';

/** Answers that nobody waits for any more still take room at the executor; with this many the connection is given up. */
const ABANDONED_MAX = 24;

/** The client's end of one connection: calls go out as they come, answers are matched to them by id. */
export class ClientConnection {
  readonly #socket: Socket;
  readonly #reader: FrameReader;
  readonly #outbox: Outbox;
  readonly #onRoom: () => void;
  /** By id; null where the caller went away. */
  readonly #calls = new Map<number, Call | null>();
  readonly #ids = new Map<Call, number>();
  /** Not given to the socket yet. */
  readonly #unsent = new Set<Call>();
  #nextId = 0;
  #abandoned = 0;
  #over = false;

  /** @param onRoom called when an answer came, and when the connection is over */
  constructor(socket: Socket, frameBytesMax: number, onRoom: () => void) {
    this.#socket = socket;
    this.#reader = new FrameReader(frameBytesMax);
    this.#outbox = new Outbox(socket, () => this.#unsent.clear());
    this.#onRoom = onRoom;
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('error', (error) => this.#lose(`the connection broke: ${messageOf(error)}`, error));
    socket.on('end', () => this.#lose('the executor closed the connection'));
    socket.once('close', () => this.#lose('the connection was closed'));
    socket.unref();
  }

  /** Whether calls may be given to it. */
  get isOpen(): boolean {
    return !this.#over && this.#abandoned < ABANDONED_MAX;
  }

  get isOver(): boolean {
    return this.#over;
  }

  get inFlight(): number {
    return this.#calls.size;
  }

  /** Sends a call; it is settled by its answer, the end of the connection, or `abandon`. */
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

  /** The caller waits no longer. False where the call is not on this connection. */
  abandon(call: Call, reason: unknown): boolean {
    const id = this.#ids.get(call);
    if (id === undefined) return false;
    this.#ids.delete(call);
    this.#calls.set(id, null);
    this.#abandoned += 1;
    call.reject(new TransportFailure('the call was given up', !this.#unsent.has(call), reason));
    this.#endWhenUseless();
    return true;
  }

  destroy(): void {
    this.#lose('the transport was closed');
  }

  #onData(chunk: Buffer): void {
    this.#reader.push(chunk);
    try {
      let frame: Frame | null;
      while (!this.#over && (frame = this.#reader.next()) !== null) this.#take(readResponse(frame));
    } catch (error) {
      this.#lose(`an answer cannot be read: ${messageOf(error)}`, error);
    }
  }

  #take(framed: FramedResponse): void {
    if (framed.id === null) {
      this.#refused(framed);
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
    this.#endWhenUseless();
    this.#onRoom();
  }

  /** The executor could not read a frame, and does not know whose: with one call under way it is that one's. */
  #refused(framed: FramedResponse): void {
    const [only, ...others] = this.#ids.keys();
    if (only !== undefined && others.length === 0) {
      this.#ids.clear();
      only.resolve(responseTo(only.request, framed));
    }
    this.#lose(`the executor refused what it got: ${Buffer.from(framed.response.payload).toString('utf8', 0, 500)}`);
  }

  /** With too many answers that nobody waits for, the last caller who still waits is the last of the connection. */
  #endWhenUseless(): void {
    if (this.#abandoned >= ABANDONED_MAX && this.#calls.size === this.#abandoned) this.#lose('nobody waits any more');
  }

  #lose(why: string, cause?: unknown): void {
    if (this.#over) return;
    this.#over = true;
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
