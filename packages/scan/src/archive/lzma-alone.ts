/**
 * Detects LZMA files (`.lzma`), which have no magic number: checks the header's plausibility, then unpacks the
 * beginning.
 */
import { LzmaDecoder, PACKED_BYTES_MAX } from './unpack/lzma.ts';
import { Damage } from './unpack/unpacker.ts';

const HEADER_BYTES = 13;
/** The header and the first bytes of the compressed data. */
const HEAD_BYTES_MIN = HEADER_BYTES + 5;

/** Bytes that are unpacked for detection. */
const TRIAL_BYTES = 4096;
/** Compressed bytes that a decoder may leave unread at the end. */
const SLACK_BYTES = 8;

const DICTIONARY_BYTES_MIN = 4096;
const MIB = 1024 * 1024;

/** Returns true for the beginning of an LZMA file, whatever its parameters. */
export function isLzmaAlone(head: Uint8Array): boolean {
  if (head.length < HEAD_BYTES_MIN || head[HEADER_BYTES] !== 0 || head[0]! >= 225) return false;
  const view = new DataView(head.buffer, head.byteOffset, head.length);
  const size = sizeOf(view);
  if (size === null || !isDictionarySize(view.getUint32(1, true))) return false;
  if (hasUsualParameters(head)) return true;
  // A table of numbers may look like a header that declares its size; so may compressed data that begins with a zero.
  if (view.getUint32(HEADER_BYTES + 1) === 0 || (size !== Infinity && head[HEADER_BYTES + 1] === 0)) return false;
  return canBeUnpacked(head, size);
}

/** Checks for the parameters that nearly every program writes, with a plausible size; no other file has these bytes. */
function hasUsualParameters(head: Uint8Array): boolean {
  return head[0] === 0x5d && head[1] === 0 && head[2] === 0;
}

/** Returns the declared unpacked size; Infinity if an end marker is used; null if no program writes it. */
function sizeOf(view: DataView): number | null {
  const [low, high] = [view.getUint32(5, true), view.getUint32(9, true)];
  if (low === 0xffffffff && high === 0xffffffff) return Infinity;
  return high < 64 ? high * 2 ** 32 + low : null;
}

/** Returns true for the dictionary sizes that programs choose: 2^n, 3 * 2^n and whole mebibytes. */
function isDictionarySize(bytes: number): boolean {
  if (bytes === 0xffffffff) return true;
  if (bytes < DICTIONARY_BYTES_MIN) return false;
  const power = 2 ** Math.floor(Math.log2(bytes));
  return bytes === power || bytes === power * 1.5 || bytes % MIB === 0;
}

/** Returns true if the data unpacks without a fault to the end, or as far as it is tried. */
function canBeUnpacked(head: Uint8Array, size: number): boolean {
  const properties = head[0]!;
  const literalBits = (properties % 9) + (Math.floor(properties / 9) % 5);
  const decoder = new LzmaDecoder(TRIAL_BYTES, literalBits);
  const packed = head.subarray(HEADER_BYTES, HEADER_BYTES + PACKED_BYTES_MAX);
  decoder.packed.set(packed);
  const limit = Math.min(size, TRIAL_BYTES);
  try {
    decoder.setProperties(properties);
    decoder.beginChunk(packed.length);
    decoder.decode(limit);
  } catch (error) {
    if (!(error instanceof Damage)) throw error;
    // The end marker is a match that no dictionary can hold.
    return decoder.used >= packed.length - SLACK_BYTES;
  }
  return size > TRIAL_BYTES || decoder.used >= packed.length - SLACK_BYTES;
}
