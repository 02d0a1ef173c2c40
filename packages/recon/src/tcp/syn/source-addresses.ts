import { AF_INET, type Libc, SOCK_CLOEXEC, SOCK_DGRAM } from '../libc.ts';

const ADDRESS_BYTES = 16;
const REMEMBERED_MAX = 65_536;
/** Any port works: connecting a datagram socket sends nothing. */
const PORT = 9;

/** Determines the local address a packet would leave from, by the routing table. IPv4 only. */
export class SourceAddresses {
  readonly #libc: Libc;
  readonly #fd: number;
  readonly #known = new Map<number, number>();
  readonly #none = new Uint8Array(ADDRESS_BYTES);
  readonly #target = new Uint8Array(ADDRESS_BYTES);
  readonly #source = new Uint8Array(ADDRESS_BYTES);
  readonly #length = new Uint8Array(4);
  #open = true;

  constructor(libc: Libc) {
    this.#libc = libc;
    this.#fd = libc.socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (this.#fd < 0) throw new Error(`a datagram socket cannot be opened: errno ${libc.errno()}`);
  }

  /** Returns the address as a number; -1 if there is no route to the target. */
  to(target: number): number {
    const known = this.#known.get(target);
    if (known !== undefined) return known;
    if (this.#known.size >= REMEMBERED_MAX) this.#known.clear();
    const source = this.#ask(target);
    this.#known.set(target, source);
    return source;
  }

  #ask(target: number): number {
    const view = new DataView(this.#target.buffer);
    view.setUint16(0, AF_INET, true);
    view.setUint16(2, PORT, false);
    view.setUint32(4, target, false);
    // Disconnects first: a connected socket would keep its address.
    this.#libc.connect(this.#fd, this.#none, ADDRESS_BYTES);
    if (this.#libc.connect(this.#fd, this.#target, ADDRESS_BYTES) < 0) return -1;
    new DataView(this.#length.buffer).setUint32(0, ADDRESS_BYTES, true);
    if (this.#libc.getsockname(this.#fd, this.#source, this.#length) < 0) return -1;
    return new DataView(this.#source.buffer).getUint32(4, false);
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#libc.close(this.#fd);
  }
}
