import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

import type { Clock } from '../../runtime/clock.ts';
import { addressOf, type Connections } from '../connections.ts';
import { peerCertificateOf } from '../listener.ts';
import type { PeerCertificate } from '../security/port.ts';
import type { UnprovenShare } from '../unproven-memory.ts';
import type { GrpcLimits } from './limits.ts';

/** A reader who takes less than this in a whole period takes nothing: answers to pings count for no progress. */
const PROGRESS_BYTES = 1_024;
/** How long a reader may stand still while more than `output_bytes_max` waits for it. */
const FULL_OUTPUT_MS = 2_000;

/** One connection, and what its calls hold of this process. */
export class Peer {
  readonly certificate: PeerCertificate | null;
  readonly remoteAddress: string;
  /** Requests that the manager has not answered yet, also those whose caller has gone. */
  unanswered = 0;
  readonly #socket: Socket;
  readonly #limits: GrpcLimits;
  readonly #clock: Clock;
  readonly #connections: Connections;
  readonly #share: UnprovenShare;
  /** Requests of which a part may have arrived; what the socket had read, and what was completed, since there are any. */
  #arriving = 0;
  #readBefore = 0;
  #completedBytes = 0;
  #completeBytes = 0;
  #outputBytes = 0;
  #writtenBefore = 0;
  #cancelWatch: (() => void) | null = null;

  constructor(socket: Socket, connections: Connections, limits: GrpcLimits, clock: Clock) {
    this.#socket = socket;
    this.#limits = limits;
    this.#clock = clock;
    this.#connections = connections;
    this.#share = connections.shareOf(socket, () => this.cut());
    this.certificate = socket instanceof TLSSocket ? peerCertificateOf(socket) : null;
    this.remoteAddress = addressOf(socket);
    socket.once('close', () => this.#cancelWatch?.());
  }

  /** Whether somebody who holds a key is at the other end. */
  get isProven(): boolean {
    return this.#connections.isProven(this.#socket);
  }

  /** About as many bytes as the requests hold that are not answered yet, and those of which only a part has arrived. */
  get heldBytes(): number {
    return this.#completeBytes + this.#unfinishedBytes();
  }

  /** What the socket has read counts, not the parts of requests: each of them may hold on to all that was read with it. */
  #unfinishedBytes(): number {
    if (this.#arriving === 0) return 0;
    const arrived = this.#socket.bytesRead - this.#readBefore - this.#completedBytes;
    const mostBytes = this.#arriving * this.#limits.message_bytes_max;
    return Math.max(0, Math.min(arrived, mostBytes));
  }

  /** A request begins to arrive. */
  begin(): void {
    if (this.#arriving === 0) {
      this.#readBefore = this.#socket.bytesRead;
      this.#completedBytes = 0;
    }
    this.#arriving += 1;
  }

  /** A part of a request has arrived. */
  grow(): void {
    this.#share.hold(this.#unfinishedBytes());
  }

  /** It has arrived, or never will. @param bytes of it that are held until it is answered */
  complete(bytes: number): void {
    this.#arriving -= 1;
    this.#completedBytes += bytes;
    this.#completeBytes += bytes;
    this.#share.hold(this.#unfinishedBytes());
  }

  /** It is answered. */
  release(bytes: number): void {
    this.#completeBytes -= bytes;
  }

  /** An answer waits to be taken by the other end. */
  sending(bytes: number): void {
    const wasFull = this.#isFull();
    this.#outputBytes += bytes;
    if (this.#cancelWatch === null || (!wasFull && this.#isFull())) this.#watch();
  }

  /** It was taken, or nobody waits for it any more. */
  sent(bytes: number): void {
    this.#outputBytes -= bytes;
    if (this.#outputBytes > 0) return;
    this.#cancelWatch?.();
    this.#cancelWatch = null;
  }

  cut(): void {
    this.#socket.destroy();
  }

  #isFull(): boolean {
    return this.#outputBytes > this.#limits.output_bytes_max;
  }

  #watch(): void {
    this.#cancelWatch?.();
    this.#writtenBefore = this.#socket.bytesWritten;
    const periodMs = this.#isFull() ? Math.min(FULL_OUTPUT_MS, this.#limits.output_ms) : this.#limits.output_ms;
    this.#cancelWatch = this.#clock.after(periodMs, () => {
      if (this.#socket.bytesWritten - this.#writtenBefore < PROGRESS_BYTES) this.cut();
      else this.#watch();
    });
  }
}

/** The connections of a listener by the name that the library gives the other end of a call: `address:port`. */
export class Peers {
  readonly #connections: Connections;
  readonly #admitted = new Map<string, Socket>();
  readonly #ready = new Map<string, Peer>();

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  /** Takes in a connection, below any TLS; false where there is no room for it. */
  admit(socket: Socket): boolean {
    const name = nameOf(socket);
    if (name === null || !this.#connections.admit(socket)) {
      socket.destroy();
      return false;
    }
    this.#admitted.set(name, socket);
    socket.once('close', () => {
      if (this.#admitted.get(name) === socket) this.#admitted.delete(name);
    });
    return true;
  }

  /** The connection speaks now; with TLS: after the handshake. */
  add(socket: Socket, peer: Peer): void {
    const name = nameOf(socket);
    if (name === null) return;
    this.#ready.set(name, peer);
    socket.once('close', () => {
      if (this.#ready.get(name) === peer) this.#ready.delete(name);
    });
  }

  /** Over the limit, whoever holds the most has to go: who sends little is not kept from being served. */
  holdWithin(bytesMax: number): void {
    const holding = [...this.#ready.values()].map((peer) => ({ peer, bytes: peer.heldBytes }));
    let total = holding.reduce((sum, { bytes }) => sum + bytes, 0);
    if (total <= bytesMax) return;
    for (const { peer, bytes } of holding.toSorted((one, other) => other.bytes - one.bytes)) {
      peer.cut();
      total -= bytes;
      if (total <= bytesMax) return;
    }
  }

  of(socket: Socket | TLSSocket): Peer | undefined {
    const name = nameOf(socket);
    return name === null ? undefined : this.#ready.get(name);
  }

  get(name: string): Peer | undefined {
    return this.#ready.get(name);
  }

  markProven(name: string): void {
    const socket = this.#admitted.get(name);
    if (socket !== undefined) this.#connections.markProven(socket);
  }
}

function nameOf({ remoteAddress, remotePort }: Socket): string | null {
  return remoteAddress === undefined || remotePort === undefined ? null : `${remoteAddress}:${remotePort}`;
}
