import type { RemoteInfo } from 'node:dgram';

import { QUERY_BYTES_MAX, sameQuestion } from './encode.ts';
import type { ResolverSet } from './resolver-set.ts';
import type { Slots } from './slots.ts';
import type { UdpSockets } from './udp-sockets.ts';
import { isBareFormatError, isResponse } from './verdict.ts';

/** Packets that match no open question. */
export interface Strays {
  /** For no open question: late, repeated, or never asked. */
  late: number;
  /** With the id of an open question, from an address that was not queried. */
  foreign: number;
  /** From the right address, for another question. */
  mismatched: number;
  /** Not a response at all. */
  garbage: number;
}

/** Matches datagrams to questions by socket, id, source and the question itself. */
export class Matching {
  readonly #slots: Slots;
  readonly #resolvers: ResolverSet;
  readonly #udp: UdpSockets;
  readonly strays: Strays = { late: 0, foreign: 0, mismatched: 0, garbage: 0 };

  constructor(slots: Slots, resolvers: ResolverSet, udp: UdpSockets) {
    this.#slots = slots;
    this.#resolvers = resolvers;
    this.#udp = udp;
  }

  /** Returns the slot, or -1 for a stray packet, which is counted. */
  slotOf(socket: number, message: Buffer, source: RemoteInfo): number {
    if (!isResponse(message)) {
      this.strays.garbage += 1;
      return -1;
    }
    const slot = this.#udp.slotOf(socket, (message[0]! << 8) | message[1]!);
    if (slot === -1) this.strays.late += 1;
    else if (this.attemptTo(slot, source) === -1) this.strays.foreign += 1;
    else if (!this.answersQuestion(slot, message)) this.strays.mismatched += 1;
    else return slot;
    return -1;
  }

  /** Returns the last attempt that queried this address; -1 if none did. */
  attemptTo(slot: number, { address: ip, port }: RemoteInfo): number {
    for (let attempt = this.#slots.attempts[slot]! - 1; attempt >= 0; attempt--) {
      const { address } = this.#resolvers.all[this.#slots.resolverOf(slot, attempt)]!;
      if (address.port === port && address.ip === ip) return attempt;
    }
    return -1;
  }

  answersQuestion(slot: number, message: Buffer): boolean {
    const base = slot * QUERY_BYTES_MAX;
    const questionEnd = base + this.#slots.questionEnd[slot]!;
    return sameQuestion(message, this.#slots.bytes, base, questionEnd) || isBareFormatError(message);
  }
}
