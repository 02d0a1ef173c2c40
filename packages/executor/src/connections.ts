import type { Socket } from 'node:net';

import type { ConnectionLimits } from './listener.ts';
import type { Reply } from './manager/port.ts';
import type { RemoteCode } from './protocol/codes.ts';
import { UnprovenMemory, type UnprovenShare } from './unproven-memory.ts';
import { UnprovenQueue } from './unproven-queue.ts';

/** Error codes that do not prove that the caller holds its key. */
const WITHOUT_PROOF: ReadonlySet<RemoteCode> = new Set([
  'UNAUTHENTICATED',
  'EXPIRED',
  'INVALID_CHECKSUM',
  'REPLAYED',
  'MALFORMED',
  'SHUTTING_DOWN',
  'INTERNAL',
] as const);

/** Returns whether a reply was given to a holder of a key: rejections are signed for any key a request merely names. */
export function provesKey({ response, code }: Reply): boolean {
  return response.mac.length > 0 && (code === null || !WITHOUT_PROOF.has(code));
}

interface Entry {
  /** The raw socket, below any TLS. */
  readonly socket: Socket;
  readonly address: string;
  /** Whether any reply on it proved that the peer holds a key. */
  proven: boolean;
  /** Its share of the memory for unproven callers; null if it never had one. */
  share: UnprovenShare | null;
}

/**
 * Limits shared by all listeners of an executor for callers that have not proven a key; if absent, each has its own.
 */
export interface UnprovenBounds {
  readonly memory?: UnprovenMemory;
  readonly turns?: UnprovenQueue;
}

/**
 * Open connections of one listener, limited per address and in total. At a limit, the oldest unproven connection is
 * closed, so that idle connections cannot shut others out.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #memory: UnprovenMemory;
  readonly #turns: UnprovenQueue;
  /** Keyed by the peer's address and port, which a socket and the TLS above it share; in order of arrival. */
  readonly #open = new Map<string, Entry>();
  readonly #byAddress = new Map<string, number>();

  constructor(limits: ConnectionLimits, { memory, turns }: UnprovenBounds = {}) {
    this.#limits = limits;
    this.#memory = memory ?? new UnprovenMemory();
    this.#turns = turns ?? new UnprovenQueue();
  }

  get size(): number {
    return this.#open.size;
  }

  /** Tracks a connection until it closes; returns false and closes the connection if a limit is reached. */
  admit(socket: Socket): boolean {
    const address = addressOf(socket);
    if (!this.#makeRoom(address)) {
      socket.destroy();
      return false;
    }
    const entry: Entry = { socket, address, proven: false, share: null };
    const key = keyOf(socket);
    this.#open.set(key, entry);
    this.#byAddress.set(address, (this.#byAddress.get(address) ?? 0) + 1);
    socket.once('close', () => this.#remove(key, entry));
    return true;
  }

  /** @param socket the admitted socket, or the TLS above it */
  markProven(socket: Socket): void {
    const entry = this.#open.get(keyOf(socket));
    if (entry === undefined) return;
    entry.proven = true;
    entry.share?.leave();
  }

  /** @param socket the admitted socket, or the TLS above it */
  isProven(socket: Socket): boolean {
    return this.#open.get(keyOf(socket))?.proven === true;
  }

  /** Runs work for a caller: immediately if it has proven a key, otherwise when the unproven queue admits it. */
  enter(socket: Socket, units: number, run: () => void): () => void {
    if (!this.isProven(socket)) return this.#turns.enter(units, run);
    run();
    return () => undefined;
  }

  /**
   * Accounts for the memory of a connection's unfinished requests until it has proven a key.
   *
   * @param cut frees that memory when others need it
   */
  shareOf(socket: Socket, cut: () => void): UnprovenShare {
    const share = this.#memory.join(addressOf(socket), cut);
    const entry = this.#open.get(keyOf(socket));
    if (entry === undefined || entry.proven) share.leave();
    else entry.share = share;
    return share;
  }

  destroyAll(): void {
    for (const { socket } of [...this.#open.values()]) socket.destroy();
  }

  /** An address may be shared by loopback, NAT or proxies, so its unproven connections are evicted first. */
  #makeRoom(address: string): boolean {
    const { connections_max, connections_per_address_max } = this.#limits;
    if ((this.#byAddress.get(address) ?? 0) >= connections_per_address_max) return this.#evict(address);
    return this.#open.size < connections_max || this.#evict(null);
  }

  /** Closes the oldest unproven connection, of one address or of all. Returns false if there is none. */
  #evict(address: string | null): boolean {
    for (const [key, entry] of this.#open) {
      if (entry.proven || (address !== null && entry.address !== address)) continue;
      this.#remove(key, entry);
      entry.socket.destroy();
      return true;
    }
    return false;
  }

  #remove(key: string, entry: Entry): void {
    // The port may have been reused since.
    if (this.#open.get(key) !== entry) return;
    this.#open.delete(key);
    entry.share?.leave();
    const left = (this.#byAddress.get(entry.address) ?? 1) - 1;
    if (left === 0) this.#byAddress.delete(entry.address);
    else this.#byAddress.set(entry.address, left);
  }
}

function keyOf(socket: Socket): string {
  return `${socket.remotePort ?? 0} ${socket.remoteAddress ?? ''}`;
}

/** The other end's address; that of an IPv4 client of an IPv6 socket as IPv4. */
export function addressOf(socket: Socket): string {
  return (socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '');
}
