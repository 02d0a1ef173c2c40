import type { Socket } from 'node:net';

import { onNextTurn } from '../../runtime/turn.ts';
import { appendFrame } from './frames.ts';

/** Pieces up to this many bytes in all are written as one, which TLS makes fewer records of. */
const JOINED_BYTES_MAX = 256 * 1024;

/**
 * What is to be written to one connection: frames of the same turn of the event loop leave together. It also knows since
 * when the other end has not taken what it was given.
 */
export class Outbox {
  readonly #socket: Socket;
  readonly #onFlush: () => void;
  #frames: Uint8Array[] = [];
  #waiting = 0;
  #scheduled = false;
  /** Bytes given to the socket so far. */
  #given = 0;
  #mark: { given: number; at: number } | null = null;

  /** @param onFlush called after each write, with the turn's answers on their way */
  constructor(socket: Socket, onFlush: () => void) {
    this.#socket = socket;
    this.#onFlush = onFlush;
  }

  /** Bytes that the other end has not taken. */
  get size(): number {
    return this.#waiting + this.#socket.writableLength;
  }

  add(header: object, payload: Uint8Array): void {
    this.#waiting += appendFrame(this.#frames, header, payload);
    if (this.#scheduled) return;
    this.#scheduled = true;
    onNextTurn(() => this.flush());
  }

  flush(): void {
    this.#scheduled = false;
    const frames = this.#frames;
    const bytes = this.#waiting;
    this.#frames = [];
    this.#waiting = 0;
    if (this.#socket.destroyed || !this.#socket.writable) return;
    if (bytes > 0) {
      this.#given += bytes;
      write(this.#socket, frames, bytes);
    }
    this.#onFlush();
  }

  /**
   * Whether what waited `deadlineMs` ago is still not taken. To be asked now and then: only what was given by the time
   * of an earlier call is known to have waited.
   *
   * @param nowMs monotonic
   */
  isStuck(nowMs: number, deadlineMs: number): boolean {
    if (this.#socket.writableLength === 0) {
      this.#mark = null;
      return false;
    }
    const taken = this.#given - this.#socket.writableLength;
    if (this.#mark === null || taken >= this.#mark.given) {
      this.#mark = { given: this.#given, at: nowMs };
      return false;
    }
    return nowMs - this.#mark.at > deadlineMs;
  }
}

function write(socket: Socket, frames: readonly Uint8Array[], bytes: number): void {
  if (frames.length === 1) socket.write(frames[0]!);
  else if (bytes <= JOINED_BYTES_MAX) socket.write(Buffer.concat(frames, bytes));
  else {
    socket.cork();
    for (const frame of frames) socket.write(frame);
    socket.uncork();
  }
}
