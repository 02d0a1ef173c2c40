/**
 * Finds archives embedded behind a program or script that unpacks them. Programs that read archives contain signatures
 * too, so a signature only counts if a valid header follows.
 */
import { crc32 } from 'node:zlib';

import type { ArchiveFormat } from './port.ts';

/**
 * Bytes of a program that are searched for an archive. Stubs of archivers have up to 2 MiB, those of installers up to
 * 12.
 */
export const STUB_BYTES_MAX = 16 * 1024 * 1024;

/** An archive behind a program or script. */
export interface EmbeddedArchive {
  name: string;
  /** Null if the format cannot be opened. */
  format: ArchiveFormat | null;
  offset: number;
}

/** Searches a chunk of a program or script for an archive; its offset is one in the chunk. */
export type StubSearch = (chunk: Uint8Array) => EmbeddedArchive | null;

/**
 * Returns the search for an embedded archive; null if the object is neither a program (Windows, Linux, macOS) nor a
 * script.
 */
export function stubSearchOf(head: Uint8Array): StubSearch | null {
  const isScript = head[0] === 0x23 && head[1] === 0x21;
  const isProgram = PROGRAMS.some((magic) => magic.every((byte, index) => head[index] === byte));
  return isProgram || isScript ? (chunk) => embeddedArchive(chunk, isScript) : null;
}

const PROGRAMS: readonly (readonly number[])[] = [
  [0x4d, 0x5a],
  [0x7f, 0x45, 0x4c, 0x46],
  [0xcf, 0xfa, 0xed, 0xfe],
  [0xce, 0xfa, 0xed, 0xfe],
];

interface Signature {
  name: string;
  format: ArchiveFormat | null;
  text: string;
  /** Bytes of the header before the signature. */
  before: number;
  isHeader: (bytes: Buffer, at: number) => boolean;
}

const SIGNATURES: readonly Signature[] = [
  { name: '7z', format: '7z', text: '7z\xbc\xaf\x27\x1c', before: 0, isHeader: isSevenZip },
  { name: 'RAR', format: 'rar', text: 'Rar!\x1a\x07', before: 0, isHeader: isRar },
  { name: 'zip', format: 'zip', text: 'PK\x03\x04', before: 0, isHeader: isZipEntry },
  { name: 'cabinet', format: null, text: 'MSCF\0\0\0\0', before: 0, isHeader: isCabinet },
  { name: 'LHA', format: null, text: '-lh', before: 2, isHeader: isLhaHeader },
];

/** After the last line of a script. Compressed data has no verifiable header, so these count only there. */
const SCRIPT_SIGNATURES: readonly (readonly [ArchiveFormat, string])[] = [
  ['gzip', '\n\x1f\x8b\x08'],
  ['xz', '\n\xfd7zXZ\0'],
  ['zstd', '\n\x28\xb5\x2f\xfd'],
  ['bzip2', '\nBZh91AY&SY'],
];

function embeddedArchive(chunk: Uint8Array, inScript: boolean): EmbeddedArchive | null {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
  for (const signature of SIGNATURES) {
    const offset = placeOf(bytes, signature);
    if (offset !== null) return { name: signature.name, format: signature.format, offset };
  }
  for (const [format, text] of inScript ? SCRIPT_SIGNATURES : []) {
    const at = bytes.indexOf(text, 2, 'latin1');
    if (at >= 0) return { name: format, format, offset: at + 1 };
  }
  return null;
}

function placeOf(bytes: Buffer, { text, before, isHeader }: Signature): number | null {
  for (let at = bytes.indexOf(text, before, 'latin1'); at >= 0; at = bytes.indexOf(text, at + 1, 'latin1')) {
    if (isHeader(bytes, at - before)) return at - before;
  }
  return null;
}

/** Verifies the checksum of the header that locates the archive's directory. */
function isSevenZip(bytes: Buffer, at: number): boolean {
  return at + 32 <= bytes.length && bytes.readUInt32LE(at + 8) === crc32(bytes.subarray(at + 12, at + 32));
}

/**
 * Verifies the first block and its checksum: in version 4 a main header of 13 bytes, in version 5 a main or encryption
 * header.
 */
function isRar(bytes: Buffer, at: number): boolean {
  if (at + 32 > bytes.length) return false;
  if (bytes[at + 6] === 0) {
    const header = bytes.subarray(at + 9, at + 20);
    return header[0] === 0x73 && bytes.readUInt16LE(at + 7) === (crc32(header) & 0xffff);
  }
  const size = bytes[at + 12]!;
  const header = bytes.subarray(at + 12, at + 13 + size);
  if (bytes[at + 6] !== 1 || bytes[at + 7] !== 0 || size >= 0x80 || header.length !== size + 1) return false;
  return bytes.readUInt32LE(at + 8) === crc32(header);
}

/** Matches the header of an entry with a name. */
function isZipEntry(bytes: Buffer, at: number): boolean {
  if (at + 31 > bytes.length) return false;
  const version = bytes.readUInt16LE(at + 4);
  const method = bytes.readUInt16LE(at + 8);
  const length = bytes.readUInt16LE(at + 26);
  if (version < 10 || version > 63 || method > 99 || length === 0 || length > 255) return false;
  return bytes.subarray(at + 30, at + 30 + length).every((byte) => byte >= 0x20 && byte !== 0x7f);
}

/** Matches version 1.3 with zeros in the reserved fields. */
function isCabinet(bytes: Buffer, at: number): boolean {
  if (at + 26 > bytes.length) return false;
  const reserved = bytes.readUInt32LE(at + 12) | bytes.readUInt32LE(at + 20);
  return reserved === 0 && bytes[at + 24] === 3 && bytes[at + 25] === 1;
}

/** Matches `-lh5-` and similar methods with the checksum of levels 0 and 1, or its counterpart in level 2. */
function isLhaHeader(bytes: Buffer, at: number): boolean {
  if (at + 24 > bytes.length || !/^-lh[0-9d]-$/.test(bytes.toString('latin1', at + 2, at + 7))) return false;
  const level = bytes[at + 20]!;
  if (level === 2) return bytes[at + 19] === 0x20 && bytes.readUInt16LE(at) >= 26 && bytes.readUInt16LE(at) < 4096;
  const header = bytes.subarray(at + 2, at + 2 + bytes[at]!);
  if (level > 1 || header.length < 20 || header.length !== bytes[at]) return false;
  return (header.reduce((sum, byte) => sum + byte, 0) & 0xff) === bytes[at + 1];
}
