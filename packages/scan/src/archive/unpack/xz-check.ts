import { createHash, type Hash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Bytes of a block's checksum, by the type in the stream's header. */
const BYTES = [0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64] as const;
const TYPE = { crc32: 1, crc64: 4, sha256: 10 } as const;

/** Verifies the checksum of one block. Unused types are skipped. */
export class XzCheck {
  readonly bytes: number;
  readonly #type: number;
  #crc = 0;
  readonly #crc64: Crc64 | null;
  readonly #hash: Hash | null;

  constructor(type: number) {
    this.bytes = BYTES[type]!;
    this.#type = type;
    this.#crc64 = type === TYPE.crc64 ? new Crc64() : null;
    this.#hash = type === TYPE.sha256 ? createHash('sha256') : null;
  }

  update(piece: Uint8Array): void {
    if (this.#type === TYPE.crc32) this.#crc = crc32(piece, this.#crc);
    this.#crc64?.update(piece);
    this.#hash?.update(piece);
  }

  /** Returns whether `stated` matches the data. Called once, at the end. */
  matches(stated: Uint8Array): boolean {
    const view = new DataView(stated.buffer, stated.byteOffset, stated.length);
    if (this.#type === TYPE.crc32) return view.getUint32(0, true) === this.#crc;
    if (this.#crc64 !== null) return this.#crc64.matches(view.getInt32(0, true), view.getInt32(4, true));
    return this.#hash === null || this.#hash.digest().equals(stated);
  }
}

/** By byte and number of zeros that follow it (0 to 3): the lower and upper half of the checksum. */
const TABLES = crc64Tables();

/** Computes xz's CRC-64, four bytes at a time, in two halves of 32 bits. */
class Crc64 {
  #low = -1;
  #high = -1;

  update(piece: Uint8Array): void {
    const [low0, low1, low2, low3] = TABLES.low;
    const [high0, high1, high2, high3] = TABLES.high;
    let low = this.#low;
    let high = this.#high;
    const whole = piece.length - (piece.length % 4);
    for (let i = 0; i < whole; i += 4) {
      const word = low ^ (piece[i]! | (piece[i + 1]! << 8) | (piece[i + 2]! << 16) | (piece[i + 3]! << 24));
      const [a, b, c, d] = [word & 0xff, (word >>> 8) & 0xff, (word >>> 16) & 0xff, word >>> 24];
      low = high ^ low3[a]! ^ low2[b]! ^ low1[c]! ^ low0[d]!;
      high = high3[a]! ^ high2[b]! ^ high1[c]! ^ high0[d]!;
    }
    for (let i = whole; i < piece.length; i++) {
      const byte = (low ^ piece[i]!) & 0xff;
      low = ((low >>> 8) | (high << 24)) ^ low0[byte]!;
      high = (high >>> 8) ^ high0[byte]!;
    }
    this.#low = low;
    this.#high = high;
  }

  matches(low: number, high: number): boolean {
    return ~this.#low === low && ~this.#high === high;
  }
}

type Tables = [Int32Array, Int32Array, Int32Array, Int32Array];

function crc64Tables(): { low: Tables; high: Tables } {
  const table = (): Int32Array => new Int32Array(256);
  const low: Tables = [table(), table(), table(), table()];
  const high: Tables = [table(), table(), table(), table()];
  for (let byte = 0; byte < 256; byte++) {
    let value = BigInt(byte);
    for (let i = 0; i < 32; i++) {
      value = (value & 1n) === 1n ? (value >> 1n) ^ 0xc96c5795d7870f42n : value >> 1n;
      if (i % 8 !== 7) continue;
      low[(i - 7) / 8]![byte] = Number(BigInt.asIntN(32, value));
      high[(i - 7) / 8]![byte] = Number(BigInt.asIntN(32, value >> 32n));
    }
  }
  return { low, high };
}
