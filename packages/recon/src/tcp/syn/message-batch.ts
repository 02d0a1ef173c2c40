import type { Libc } from '../libc.ts';

/** Sizes of `struct mmsghdr` and `struct iovec` on 64-bit Linux. */
const HEADER_BYTES = 64;
const VECTOR_BYTES = 16;
/** Offsets of `msg_namelen`, `msg_len` and `iov_len`. */
const NAME_LENGTH_AT = 8;
const VECTOR_AT = 16;
const VECTOR_COUNT_AT = 24;
const MESSAGE_LENGTH_AT = 56;

/**
 * Memory for the messages of one system call, allocated once: `data` contains their packets and `names` their
 * addresses, each at `index` times its size. Sending and receiving allocate nothing.
 */
export class MessageBatch {
  readonly count: number;
  readonly dataBytes: number;
  readonly nameBytes: number;
  readonly data: DataView;
  readonly names: DataView;
  /** Argument of `sendmmsg` and `recvmmsg`. */
  readonly headers: Uint8Array;
  readonly #headerView: DataView;
  readonly #memory: ArrayBuffer;

  constructor(libc: Libc, sizes: { count: number; dataBytes: number; nameBytes: number }) {
    const { count, dataBytes, nameBytes } = sizes;
    this.count = count;
    this.dataBytes = dataBytes;
    this.nameBytes = nameBytes;
    const vectorsAt = HEADER_BYTES * count;
    const namesAt = vectorsAt + VECTOR_BYTES * count;
    const dataAt = namesAt + nameBytes * count;
    this.#memory = new ArrayBuffer(dataAt + dataBytes * count);
    this.headers = new Uint8Array(this.#memory, 0, vectorsAt);
    this.names = new DataView(this.#memory, namesAt, nameBytes * count);
    this.data = new DataView(this.#memory, dataAt, dataBytes * count);
    this.#headerView = new DataView(this.#memory, 0, vectorsAt);
    const base = libc.address(new Uint8Array(this.#memory));
    const all = new DataView(this.#memory);
    for (let index = 0; index < count; index++) {
      const header = HEADER_BYTES * index;
      const vector = vectorsAt + VECTOR_BYTES * index;
      all.setBigUint64(header, base + BigInt(namesAt + nameBytes * index), true);
      all.setUint32(header + NAME_LENGTH_AT, nameBytes, true);
      all.setBigUint64(header + VECTOR_AT, base + BigInt(vector), true);
      all.setBigUint64(header + VECTOR_COUNT_AT, 1n, true);
      all.setBigUint64(vector, base + BigInt(dataAt + dataBytes * index), true);
      all.setBigUint64(vector + 8, BigInt(dataBytes), true);
    }
  }

  /** Returns the length of a received message. */
  lengthOf(index: number): number {
    return this.#headerView.getUint32(HEADER_BYTES * index + MESSAGE_LENGTH_AT, true);
  }

  /** Returns the headers from one message on, for the rest of a partially sent batch. */
  headersFrom(index: number): Uint8Array {
    return this.headers.subarray(HEADER_BYTES * index);
  }
}
