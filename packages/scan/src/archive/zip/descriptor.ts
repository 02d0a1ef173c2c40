import type { Input } from '../byte-source.ts';
import { Damage, type Unpacker } from '../unpack/unpacker.ts';
import { SIGNATURE, signatureOf, viewOf } from './records.ts';

/**
 * Returns the length of the descriptor after an entry of `packedSize` bytes, with or without signature, with sizes of
 * 4 or 8 bytes; 0 if there is none.
 */
export function descriptorLength(bytes: Uint8Array, packedSize: number): number {
  const view = viewOf(bytes);
  const mark = signatureOf(bytes) === SIGNATURE.descriptor ? 4 : 0;
  const low = packedSize % 2 ** 32;
  if (bytes.length < mark + 12 || view.getUint32(mark + 4, true) !== low) return mark === 0 ? 0 : 16;
  // With 8-byte sizes, the upper half of the compressed size takes the place of the size; what follows
  // distinguishes them.
  const upper = Math.floor(packedSize / 2 ** 32);
  const isFollowed = bytes.length >= mark + 16 && FOLLOWING.includes(view.getUint32(mark + 12, true));
  const isWide = !isFollowed && bytes.length >= mark + 20 && view.getUint32(mark + 8, true) === upper;
  return isWide ? mark + 20 : mark + 12;
}

const FOLLOWING: readonly number[] = [SIGNATURE.local, SIGNATURE.directory, SIGNATURE.extra_data];

/** Reads stored data of unknown length: it ends before a descriptor that declares as many bytes as were read. */
export class OpenStoredUnpacker implements Unpacker {
  readonly #input: Input;
  #seen = 0;
  #passed = 0;
  #isAtEnd = false;

  constructor(input: Input) {
    this.#input = input;
  }

  async next(): Promise<Uint8Array | null> {
    this.#input.consume(this.#seen);
    this.#passed += this.#seen;
    this.#seen = 0;
    if (this.#isAtEnd) return null;
    const chunk = await this.#input.peek(DESCRIPTOR_BYTES);
    if (chunk.length < DESCRIPTOR_BYTES) throw new Damage('the data ends too early');
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    // A signature that is cut off is checked with the next piece.
    const searched = bytes.length - DESCRIPTOR_BYTES;
    let length = searched + 1;
    for (let at = bytes.indexOf(MARK); at >= 0 && at <= searched; at = bytes.indexOf(MARK, at + 1)) {
      if (bytes.readUInt32LE(at + 8) !== (this.#passed + at) % 2 ** 32) continue;
      length = at;
      this.#isAtEnd = true;
      break;
    }
    this.#seen = length;
    return length === 0 ? null : chunk.subarray(0, length);
  }

  close(): void {
    this.#input.consume(this.#seen);
    this.#seen = 0;
  }
}

const DESCRIPTOR_BYTES = 16;
const MARK = Buffer.from('PK\x07\x08', 'latin1');
