import type { Socket } from 'node:net';

import type { ConnectionLimits } from './listener.ts';
import type { Reply } from './manager/port.ts';
import type { RemoteCode } from './protocol/codes.ts';
import { UnprovenMemory, type UnprovenShare } from './unproven-memory.ts';
import { UnprovenTurns } from './unproven-turns.ts';

/** Refusals that come before, or in place of, the proof that a caller holds its key. */
const WITHOUT_PROOF: ReadonlySet<RemoteCode> = new Set([
  'UNAUTHENTICATED',
  'EXPIRED',
  'INVALID_CHECKSUM',
  'REPLAYED',
  'MALFORMED',
  'SHUTTING_DOWN',
  'INTERNAL',
] as const);

/** Whether an answer was given to somebody who holds a key: refusals are signed for whomever a request merely names. */
export function provesKey({ response, code }: Reply): boolean {
  return response.mac.length > 0 && (code === null || !WITHOUT_PROOF.has(code));
}

interface Entry {
  /** Below any TLS. */
  readonly socket: Socket;
  readonly address: string;
  /** Whether any answer to it said so: somebody who holds a key is at the other end. */
  proven: boolean;
  /** Of the memory of unproven callers; null where it never held any. */
  share: UnprovenShare | null;
}

/** What all listeners of an executor together give callers who have not proven a key; of its own where absent. */
export interface UnprovenBounds {
  readonly memory?: UnprovenMemory;
  readonly turns?: UnprovenTurns;
}

/**
 * The open connections of one listener, at most so many of one address and in all. Where either is taken, the oldest on
 * which nobody has proven anything yet makes room: connections that are merely held cannot shut others out.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #memory: UnprovenMemory;
  readonly #turns: UnprovenTurns;
  /** By address and port of the other end, which a socket and the TLS above it have in common; in order of arrival. */
  readonly #open = new Map<string, Entry>();
  readonly #byAddress = new Map<string, number>();

  constructor(limits: ConnectionLimits, { memory, turns }: UnprovenBounds = {}) {
    this.#limits = limits;
    this.#memory = memory ?? new UnprovenMemory();
    this.#turns = turns ?? new UnprovenTurns();
  }

  get size(): number {
    return this.#open.size;
  }

  /** Takes a connection in until it closes; false, and the connection is cut, where there is no room for it. */
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

  /** @param socket the one that was admitted, or the TLS above it */
  markProven(socket: Socket): void {
    const entry = this.#open.get(keyOf(socket));
    if (entry === undefined) return;
    entry.proven = true;
    entry.share?.leave();
  }

  /** @param socket the one that was admitted, or the TLS above it */
  isProven(socket: Socket): boolean {
    return this.#open.get(keyOf(socket))?.proven === true;
  }

  /** Works for a caller: at once where it has proven a key, else when the turns of all others allow it. */
  enter(socket: Socket, units: number, run: () => void): () => void {
    if (!this.isProven(socket)) return this.#turns.enter(units, run);
    run();
    return () => undefined;
  }

  /**
   * Counts what an admitted connection holds of unfinished requests, until it has proven a key.
   *
   * @param cut lets go of all that, where others need the room
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

  /** An address is shared, by loopback, NAT and proxies: its strangers make room for their neighbours first. */
  #makeRoom(address: string): boolean {
    const { connections_max, connections_per_address_max } = this.#limits;
    if ((this.#byAddress.get(address) ?? 0) >= connections_per_address_max) return this.#evict(address);
    return this.#open.size < connections_max || this.#evict(null);
  }

  /** Cuts the oldest stranger, of one address or of all. False where there is none. */
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
    // The port may have been used anew since.
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
