import { encodeFilter } from './filters.ts';
import {
  AF_INET,
  AF_INET6,
  EACCES,
  EPERM,
  type Libc,
  MSG_DONTWAIT,
  SOCK_CLOEXEC,
  SOCK_NONBLOCK,
  SOCK_RAW,
  SOL_SOCKET,
} from '../libc.ts';
import type { MessageBatch } from './message-batch.ts';

const SO_RCVBUF = 8;
const SO_SNDBUFFORCE = 32;
const SO_RCVBUFFORCE = 33;
const SO_ATTACH_FILTER = 26;

const RECEIVE_BUFFER_BYTES = 32 * 1024 * 1024;
const SEND_BUFFER_BYTES = 4 * 1024 * 1024;

/** The system denies raw sockets to this process. */
export class NotPermitted extends Error {}

/** A non-blocking raw socket, closed by its creator. */
export class RawSocket {
  readonly #libc: Libc;
  readonly #fd: number;
  #open = true;

  /** @throws NotPermitted without CAP_NET_RAW; Error if the system lacks the protocol */
  constructor(libc: Libc, family: 4 | 6, protocol: number) {
    this.#libc = libc;
    this.#fd = libc.socket(family === 4 ? AF_INET : AF_INET6, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
    if (this.#fd >= 0) return;
    const errno = libc.errno();
    if (errno === EPERM || errno === EACCES) {
      throw new NotPermitted('raw sockets need the capability CAP_NET_RAW (or root)');
    }
    throw new Error(`a raw IPv${family} socket cannot be opened: errno ${errno}`);
  }

  /** Attaches a filter; packets received before may still be read. */
  filter(instructions: Parameters<typeof encodeFilter>[0]): void {
    const code = encodeFilter(instructions);
    const holder = new Uint8Array(16);
    const view = new DataView(holder.buffer);
    view.setUint16(0, instructions.length, true);
    view.setBigUint64(8, this.#libc.address(code), true);
    if (this.#libc.setsockopt(this.#fd, SOL_SOCKET, SO_ATTACH_FILTER, holder, holder.length) < 0) {
      throw new Error(`the packet filter was refused: errno ${this.#libc.errno()}`);
    }
  }

  /** Enlarges the receive buffer as far as the system permits. */
  enlargeBuffers(): void {
    if (this.option(SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES) < 0) {
      this.option(SOL_SOCKET, SO_RCVBUF, RECEIVE_BUFFER_BYTES);
    }
    this.option(SOL_SOCKET, SO_SNDBUFFORCE, SEND_BUFFER_BYTES);
  }

  /** Sets an integer option; returns a negative value on failure. */
  option(level: number, name: number, value: number): number {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setInt32(0, value, true);
    return this.#libc.setsockopt(this.#fd, level, name, bytes, bytes.length);
  }

  /** Sends messages `from` to `to`; returns how many were accepted, or the negative errno of the first. */
  send(batch: MessageBatch, from: number, to: number): number {
    const headers = from === 0 ? batch.headers : batch.headersFrom(from);
    const sent = this.#libc.sendmmsg(this.#fd, headers, to - from, MSG_DONTWAIT);
    return sent < 0 ? -this.#libc.errno() : sent;
  }

  /** Returns how many messages were received; 0 if none is waiting. */
  receive(batch: MessageBatch): number {
    return Math.max(0, this.#libc.recvmmsg(this.#fd, batch.headers, batch.count, MSG_DONTWAIT, null));
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#libc.close(this.#fd);
  }
}
