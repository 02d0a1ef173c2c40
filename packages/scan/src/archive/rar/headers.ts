import { crc32 } from 'node:zlib';
import { Damage } from '../unpack/unpacker.ts';

/** A block of a RAR archive. */
export interface RarBlock {
  kind: 'file' | 'service' | 'end' | 'other';
  /** Bytes of the header that follow what was parsed, and of the data. */
  header_bytes: number;
  data_bytes: number;
  file: RarFile | null;
}

export interface RarFile {
  name: Buffer;
  is_directory: boolean;
  is_link: boolean;
  is_encrypted: boolean;
  is_stored: boolean;
  /** True if a part of it is in another volume. */
  is_split: boolean;
  crc: number | undefined;
  size: number;
}

/** Bytes of a header; the format permits 2 MiB. */
const HEADER_BYTES_MAX = 192 * 1024;

function damaged(): Damage {
  return new Damage('the archive is damaged');
}

function encrypted(): Damage {
  return new Damage('the names and contents of the archive are encrypted', 'encrypted');
}

/** Returns the version that a signature names: 4 or 5; null for another one. */
export function rarVersion(head: Uint8Array): 4 | 5 | null {
  const text = Buffer.from(head.subarray(0, 8)).toString('latin1');
  if (text === 'Rar!\x1a\x07\x01\0') return 5;
  return text.startsWith('Rar!\x1a\x07\0') ? 4 : null;
}

/** Bytes from which the length of the next header is known. */
export const LENGTH_BYTES = 7;

/** Returns the length of a header from its first bytes. */
export function headerLength(version: 4 | 5, bytes: Buffer): number {
  if (version === 4) {
    const length = bytes.readUInt16LE(5);
    if (length < 7) throw damaged();
    return length;
  }
  const reader = new Fields(bytes, 4);
  const rest = reader.number();
  const length = reader.at + rest;
  if (rest === 0 || length > HEADER_BYTES_MAX) throw damaged();
  return length;
}

export function parseBlock(version: 4 | 5, bytes: Buffer): RarBlock {
  return version === 5 ? parseVersion5(bytes) : parseVersion4(bytes);
}

const MAIN_4 = 0x73;
const FILE_4 = 0x74;
const SERVICE_4 = 0x7a;
const END_4 = 0x7b;

function parseVersion4(bytes: Buffer): RarBlock {
  const type = bytes[2]!;
  const flags = bytes.readUInt16LE(3);
  if (type < 0x72 || type > END_4) throw damaged();
  if (bytes.readUInt16LE(0) !== (crc32(bytes.subarray(2)) & 0xffff)) throw damaged();
  if (type === MAIN_4 && (flags & 0x80) !== 0) throw encrypted();
  if (type === END_4) return { kind: 'end', header_bytes: bytes.length, data_bytes: 0, file: null };
  if (type !== FILE_4 && type !== SERVICE_4) {
    const data = (flags & 0x8000) === 0 ? 0 : bytes.readUInt32LE(7);
    return { kind: 'other', header_bytes: bytes.length, data_bytes: data, file: null };
  }
  if (bytes.length < 32) throw damaged();
  const isLarge = (flags & 0x100) !== 0;
  const nameAt = isLarge ? 40 : 32;
  const nameBytes = bytes.readUInt16LE(26);
  if (bytes.length < nameAt + nameBytes) throw damaged();
  const high = (at: number): number => (isLarge ? bytes.readUInt32LE(at) * 2 ** 32 : 0);
  const name = bytes.subarray(nameAt, nameAt + nameBytes);
  const zero = name.indexOf(0);
  const isUnix = bytes[15] === 3;
  const file: RarFile = {
    // Of two forms of a name the second one is compressed.
    name: Buffer.from((zero < 0 ? name : name.subarray(0, zero)).toString('latin1').replaceAll('\\', '/'), 'latin1'),
    is_directory: (flags & 0xe0) === 0xe0,
    is_link: isUnix && (bytes.readUInt32LE(28) & 0o170000) === 0o120000,
    is_encrypted: (flags & 4) !== 0,
    is_stored: bytes[25] === 0x30,
    is_split: (flags & 3) !== 0,
    crc: bytes.readUInt32LE(16),
    size: bytes.readUInt32LE(11) + high(36),
  };
  const kind = type === FILE_4 ? 'file' : 'service';
  return { kind, header_bytes: bytes.length, data_bytes: bytes.readUInt32LE(7) + high(32), file };
}

function parseVersion5(bytes: Buffer): RarBlock {
  if (bytes.readUInt32LE(0) !== crc32(bytes.subarray(4))) throw damaged();
  const fields = new Fields(bytes, 4);
  fields.number();
  const type = fields.number();
  const flags = fields.number();
  const extraBytes = (flags & 1) === 0 ? 0 : fields.number();
  const data_bytes = (flags & 2) === 0 ? 0 : fields.number();
  if (type === 4) throw encrypted();
  if (type === 5) return { kind: 'end', header_bytes: bytes.length, data_bytes, file: null };
  if (type !== 2 && type !== 3) return { kind: 'other', header_bytes: bytes.length, data_bytes, file: null };
  const fileFlags = fields.number();
  const size = fields.number();
  fields.number();
  if ((fileFlags & 2) !== 0) fields.take(4);
  const crc = (fileFlags & 4) === 0 ? undefined : fields.take(4).readUInt32LE();
  const method = fields.number();
  fields.number();
  const name = Buffer.from(fields.take(fields.number()));
  const extras = extrasIn(bytes.subarray(Math.max(fields.at, bytes.length - extraBytes)));
  const file: RarFile = {
    name,
    is_directory: (fileFlags & 1) !== 0,
    is_link: extras.has(5),
    is_encrypted: extras.has(1),
    is_stored: ((method >> 7) & 7) === 0,
    is_split: (flags & 0x18) !== 0,
    crc,
    size: (fileFlags & 8) === 0 ? size : -1,
  };
  return { kind: type === 2 ? 'file' : 'service', header_bytes: bytes.length, data_bytes, file };
}

/** Returns the types of the records after a header. */
function extrasIn(bytes: Buffer): Set<number> {
  const types = new Set<number>();
  const fields = new Fields(bytes, 0);
  while (fields.at < bytes.length) {
    const length = fields.number();
    const record = new Fields(fields.take(length), 0);
    types.add(record.number());
  }
  return types;
}

class Fields {
  readonly #bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  /** Reads a number of seven bits for each byte. */
  number(): number {
    let value = 0;
    for (let index = 0; index < 8; index++) {
      const byte = this.#bytes[this.at++];
      if (byte === undefined) throw damaged();
      value += (byte & 0x7f) * 2 ** (7 * index);
      if (byte < 0x80) {
        if (!Number.isSafeInteger(value)) throw damaged();
        return value;
      }
    }
    throw damaged();
  }

  take(length: number): Buffer {
    if (length > this.#bytes.length - this.at) throw damaged();
    this.at += length;
    return this.#bytes.subarray(this.at - length, this.at);
  }
}
