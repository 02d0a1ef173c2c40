import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

import type { Clock } from '@heddle/base/clock';
import { addressOf, type Connections } from '../connections.ts';
import { peerCertificateOf } from '../listener.ts';
import type { PeerCertificate } from '../security/port.ts';
import type { UnprovenShare } from '../unproven-memory.ts';
import type { GrpcLimits } from './limits.ts';

/** Minimum bytes per period that count as progress; ping responses alone stay below. */
const PROGRESS_BYTES = 1_024;
/** Time without progress after which a reader with more than `output_bytes_max` pending is cut. */
const FULL_OUTPUT_MS = 2_000;

/** One connection and the resources that its calls hold. */
export class Peer {
  readonly certificate: PeerCertificate | null;
  readonly remoteAddress: string;
  /** Requests without a response, including those whose caller has disconnected. */
  unanswered = 0;
  readonly #socket: Socket;
  readonly #limits: GrpcLimits;
  readonly #clock: Clock;
  readonly #connections: Connections;
  readonly #share: UnprovenShare;
  /** Requests still arriving; bytes read from the socket before they began, and bytes completed since. */
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

  /** Whether the peer has proven that it holds a key. */
  get isProven(): boolean {
    return this.#connections.isProven(this.#socket);
  }

  /** Returns the approximate size of unanswered and partially received requests. */
  get heldBytes(): number {
    return this.#completeBytes + this.#unfinishedBytes();
  }

  /**
   * Counts bytes read from the socket rather than message parts, because each part may retain the whole buffer it came
   * in.
   */
  #unfinishedBytes(): number {
    if (this.#arriving === 0) return 0;
    const arrived = this.#socket.bytesRead - this.#readBefore - this.#completedBytes;
    const mostBytes = this.#arriving * this.#limits.message_bytes_max;
    return Math.max(0, Math.min(arrived, mostBytes));
  }

  /** Marks the start of a request. */
  begin(): void {
    if (this.#arriving === 0) {
      this.#readBefore = this.#socket.bytesRead;
      this.#completedBytes = 0;
    }
    this.#arriving += 1;
  }

  /** Updates the count after a part of a request arrived. */
  update(): void {
    this.#share.hold(this.#unfinishedBytes());
  }

  /** Marks a request as received or abandoned. @param bytes retained until it is answered */
  complete(bytes: number): void {
    this.#arriving -= 1;
    this.#completedBytes += bytes;
    this.#completeBytes += bytes;
    this.#share.hold(this.#unfinishedBytes());
  }

  /** Releases the bytes of an answered request. */
  release(bytes: number): void {
    this.#completeBytes -= bytes;
  }

  /** Counts response bytes until the peer takes them. */
  sending(bytes: number): void {
    const wasFull = this.#isFull();
    this.#outputBytes += bytes;
    if (this.#cancelWatch === null || (!wasFull && this.#isFull())) this.#watch();
  }

  /** Uncounts response bytes that were taken or abandoned. */
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

/** Connections of a listener by the library's name of the peer: `address:port`. */
export class Peers {
  readonly #connections: Connections;
  readonly #admitted = new Map<string, Socket>();
  readonly #ready = new Map<string, Peer>();

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  /** Admits a raw connection, below any TLS; false if a limit is reached. */
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

  /** Registers a connection that is ready for requests; with TLS, after the handshake. */
  add(socket: Socket, peer: Peer): void {
    const name = nameOf(socket);
    if (name === null) return;
    this.#ready.set(name, peer);
    socket.once('close', () => {
      if (this.#ready.get(name) === peer) this.#ready.delete(name);
    });
  }

  /** Enforces a total limit by cutting the connections that hold the most, so that small ones are not affected. */
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
