import type { Resolver } from './resolver.ts';
import type { UdpSockets } from './udp-sockets.ts';

const NOT_RESERVED = -1;

/** The socket and the message id of each slot. Both stay the same over the attempts, so that a late answer is valid. */
export class Reservations {
  readonly #udp: UdpSockets;
  readonly #reserved: Float64Array;

  constructor(slots: number, udp: UdpSockets) {
    this.#udp = udp;
    this.#reserved = new Float64Array(slots).fill(NOT_RESERVED);
  }

  /** Returns the reservation for a query to this resolver, a new one if the address family has changed. */
  for(slot: number, { address }: Resolver): number {
    const reserved = this.#reserved[slot]!;
    if (reserved !== NOT_RESERVED) {
      if (this.#udp.familyOf(reserved) === address.family) return reserved;
      this.#udp.free(reserved);
    }
    return (this.#reserved[slot] = this.#udp.reserve(address.family, slot));
  }

  free(slot: number): void {
    this.#udp.free(this.#reserved[slot]!);
    this.#reserved[slot] = NOT_RESERVED;
  }
}

/** Returns the message id of a reservation. */
export function messageIdOf(reserved: number): number {
  return reserved % 65_536;
}
