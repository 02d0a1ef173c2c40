import type { Socket } from 'node:net';

import { onNextTurn } from '@heddle/base/turn';
import { appendFrame } from './frames.ts';

/** Frames up to this total are joined into one write, which yields fewer TLS records. */
const JOINED_BYTES_MAX = 256 * 1024;

/**
 * Output of one connection. Frames of one event loop turn are written together; tracks how long the peer has not read.
 */
export class Outbox {
  readonly #socket: Socket;
  readonly #onFlush: () => void;
  #frames: Uint8Array[] = [];
  #waiting = 0;
  #scheduled = false;
  /** Bytes passed to the socket so far. */
  #given = 0;
  #mark: { given: number; at: number } | null = null;

  /** @param onFlush called after each write */
  constructor(socket: Socket, onFlush: () => void) {
    this.#socket = socket;
    this.#onFlush = onFlush;
  }

  /** Bytes not yet taken by the peer. */
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
   * Returns whether data from `deadlineMs` ago is still unread. Must be called periodically, because it compares with
   * the state at an earlier call.
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
