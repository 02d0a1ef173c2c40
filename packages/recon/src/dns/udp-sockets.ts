import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';

import type { Random } from '@heddle/base/random';
import type { ResolverAddress } from './resolver.ts';

/** Sockets per family: each has a random port, its own ids and its own receive buffer. */
const SOCKETS_PER_FAMILY = 4;
const RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024;
const IDS = 65_536;
const RANDOM_BYTES = 3 * 1024;

export type OnDatagram = (socket: number, message: Buffer, source: RemoteInfo) => void;

/** A few UDP sockets for any number of resolvers, with the slot of each id of each socket. */
export class UdpSockets {
  readonly #sockets: Socket[] = [];
  readonly #families: (4 | 6)[] = [];
  /** Per socket: slot plus one by id, zero if the id is free. */
  readonly #slots: Int32Array[] = [];
  readonly #random: Random;
  #randomBytes: Uint8Array = new Uint8Array(0);
  #randomAt = 0;
  #closed = false;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Binds the sockets of these families; rejects if the system provides none. */
  async open(families: ReadonlySet<4 | 6>, onDatagram: OnDatagram): Promise<void> {
    for (const family of families) {
      for (let count = 0; count < SOCKETS_PER_FAMILY && !this.#closed; count++) await this.#bind(family, onDatagram);
    }
  }

  async #bind(family: 4 | 6, onDatagram: OnDatagram): Promise<void> {
    const socket = createSocket({
      type: family === 4 ? 'udp4' : 'udp6',
      // Addresses need no lookup, which would cost a turn of the event loop.
      lookup: (address, _options, done) => done(null, address, family),
    });
    const index = this.#sockets.push(socket) - 1;
    this.#families.push(family);
    this.#slots.push(new Int32Array(IDS));
    socket.on('message', (message, source) => onDatagram(index, message, source));
    // The lookup is synchronous, so the socket may be bound before the call returns.
    const listening = once(socket, 'listening');
    socket.bind(0);
    await listening;
    // Later errors concern sending: the query goes unanswered like a lost one.
    socket.on('error', () => undefined);
    try {
      socket.setRecvBufferSize(RECEIVE_BUFFER_BYTES);
    } catch {
      // The system's default size must suffice.
    }
  }

  /** Returns the slot of this id on this socket; -1 if there is none. */
  slotOf(socket: number, id: number): number {
    return this.#slots[socket]![id]! - 1;
  }

  /** Draws a socket of the family and an id that is free there; returns `socket * 65536 + id`. */
  reserve(family: 4 | 6, slot: number): number {
    if (this.#randomAt + 3 > this.#randomBytes.length) {
      this.#randomBytes = this.#random.bytes(RANDOM_BYTES);
      this.#randomAt = 0;
    }
    const bytes = this.#randomBytes;
    const at = this.#randomAt;
    this.#randomAt = at + 3;
    const drawn = bytes[at]! % SOCKETS_PER_FAMILY;
    const socket = this.#families.indexOf(family) + drawn;
    const ids = this.#slots[socket]!;
    let id = (bytes[at + 1]! << 8) | bytes[at + 2]!;
    while (ids[id] !== 0) id = (id + 1) % IDS;
    ids[id] = slot + 1;
    return socket * IDS + id;
  }

  familyOf(reserved: number): 4 | 6 {
    return this.#families[Math.floor(reserved / IDS)]!;
  }

  free(reserved: number): void {
    this.#slots[Math.floor(reserved / IDS)]![reserved % IDS] = 0;
  }

  /** @param failed called if the system refuses to send; passed for few packets only, since it costs time */
  send(reserved: number, message: Buffer, to: ResolverAddress, failed: ((error: Error) => void) | null): void {
    const socket = this.#sockets[Math.floor(reserved / IDS)]!;
    if (failed === null) socket.send(message, to.port, to.ip);
    else socket.send(message, to.port, to.ip, (error) => error !== null && failed(error));
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const socket of this.#sockets) {
      socket.removeAllListeners('message');
      try {
        socket.close();
      } catch {
        // The socket was never bound.
      }
    }
  }
}
