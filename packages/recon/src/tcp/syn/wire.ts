import { icmpFilter, tcpFilter } from './filters.ts';
import { EAGAIN, ENOBUFS, ENOMEM, type Libc } from '../libc.ts';
import { MessageBatch } from './message-batch.ts';
import { RawSocket } from './raw-socket.ts';

export const IPPROTO_TCP = 6;
const SEND_COUNT = 256;
const RECEIVE_COUNT = 256;
const RECEIVE_BYTES = 160;

/** The relevant fields of a received packet. One object is reused for all of them. */
export interface Answer {
  /** Words of the probed address; IPv4: the first, the others zero. */
  readonly words: Uint32Array;
  /** The probed port. */
  port: number;
  /** The attempt that is answered, from our port. */
  attempt: number;
  /** The probe's sequence number, derived from the answer. */
  sequence: number;
  type: 'syn-ack' | 'rst' | 'unreachable';
  /** Code of an ICMP message. */
  code: number;
}

/** Handles messages that could not be sent. */
export interface SendFaults {
  /** The system is busy: retry soon. */
  later(slot: number): void;
  failed(slot: number, errno: number): void;
}

export interface WireParts {
  libc: Libc;
  /** The first of the 16 source ports. */
  portBase: number;
}

/** Sends SYN packets of one family and reads the answers. All memory is allocated up front. */
export abstract class Wire {
  readonly family: 4 | 6;
  protected readonly portBase: number;
  protected readonly outgoing: MessageBatch;
  protected readonly incoming: MessageBatch;
  protected readonly answer: Answer = {
    words: new Uint32Array(4),
    port: 0,
    attempt: 0,
    sequence: 0,
    type: 'rst',
    code: 0,
  };
  readonly #tcp: RawSocket;
  readonly #icmp: RawSocket;
  readonly #slots = new Int32Array(SEND_COUNT);
  #queued = 0;

  /** @throws like `RawSocket`; nothing is open then */
  constructor({ libc, portBase }: WireParts, family: 4 | 6, nameBytes: number, packetBytes: number, icmp: number) {
    this.family = family;
    this.portBase = portBase;
    this.outgoing = new MessageBatch(libc, { count: SEND_COUNT, dataBytes: packetBytes, nameBytes });
    this.incoming = new MessageBatch(libc, { count: RECEIVE_COUNT, dataBytes: RECEIVE_BYTES, nameBytes });
    this.#tcp = new RawSocket(libc, family, IPPROTO_TCP);
    try {
      this.#icmp = new RawSocket(libc, family, icmp);
    } catch (error) {
      this.#tcp.close();
      throw error;
    }
    try {
      this.#tcp.filter(tcpFilter(family, portBase));
      this.#icmp.filter(icmpFilter(family, portBase));
      this.#tcp.enlargeBuffers();
      this.prepare(this.#tcp);
    } catch (error) {
      this.#tcp.close();
      this.#icmp.close();
      throw error;
    }
  }

  /** Configures the family's socket. */
  protected abstract prepare(socket: RawSocket): void;
  /** Writes packet and address of message `index`; returns false if there is no route to the target. */
  protected abstract write(
    index: number,
    words: Uint32Array,
    at: number,
    probe: { port: number; attempt: number; sequence: number; scope: number },
  ): boolean;
  /** Reads message `index` into `answer`; returns false if it is irrelevant. */
  protected abstract readTcp(index: number, bytes: number): boolean;
  protected abstract readIcmp(index: number, bytes: number): boolean;

  get queued(): number {
    return this.#queued;
  }

  get full(): boolean {
    return this.#queued === SEND_COUNT;
  }

  /** Adds a packet to the next batch, which must not be full; returns false if there is no route to the target. */
  put(slot: number, words: Uint32Array, at: number, probe: Parameters<Wire['write']>[3]): boolean {
    if (!this.write(this.#queued, words, at, probe)) return false;
    this.#slots[this.#queued++] = slot;
    return true;
  }

  /** Sends the batch; returns how many packets left. */
  flush(faults: SendFaults): number {
    let from = 0;
    let sent = 0;
    while (from < this.#queued) {
      const taken = this.#tcp.send(this.outgoing, from, this.#queued);
      if (taken > 0) {
        from += taken;
        sent += taken;
      } else if (taken === 0 || taken === -EAGAIN || taken === -ENOBUFS || taken === -ENOMEM) {
        for (; from < this.#queued; from++) faults.later(this.#slots[from]!);
      } else {
        faults.failed(this.#slots[from]!, -taken);
        from += 1;
      }
    }
    this.#queued = 0;
    return sent;
  }

  /** Reads pending messages, at most one batch of each kind; returns whether more may be pending. */
  receive(take: (answer: Answer) => void): boolean {
    const packets = this.#tcp.receive(this.incoming);
    for (let index = 0; index < packets; index++) {
      if (this.readTcp(index, this.incoming.lengthOf(index))) take(this.answer);
    }
    const faults = this.#icmp.receive(this.incoming);
    for (let index = 0; index < faults; index++) {
      if (this.readIcmp(index, this.incoming.lengthOf(index))) take(this.answer);
    }
    return packets === RECEIVE_COUNT || faults === RECEIVE_COUNT;
  }

  close(): void {
    this.#tcp.close();
    this.#icmp.close();
  }
}
