export const BLOCK_BYTES = 512;

/** A header block. `size` is NaN if its field is invalid. */
export interface TarHeader {
  name: Uint8Array;
  /** One character. */
  type: string;
  size: number;
  /** True if further blocks of a GNU sparse map follow. */
  map_continues: boolean;
}

const FIELD = { name: 0, size: 124, checksum: 148, type: 156, magic: 257, prefix: 345 } as const;
const SPARSE_CONTINUES_AT = 482;

/** Parses the header in these 512 bytes; returns null if the checksum does not match. */
export function parseHeader(block: Uint8Array): TarHeader | null {
  if (!hasChecksum(block)) return null;
  const type = String.fromCharCode(block[FIELD.type]!);
  return {
    name: nameOf(block),
    type,
    size: numberAt(block, FIELD.size, 12),
    map_continues: block[SPARSE_CONTINUES_AT] !== 0,
  };
}

/** Returns true for the header block of a tar file of any flavour and age. */
export function isTarHead(head: Uint8Array): boolean {
  return head.length >= BLOCK_BYTES && hasChecksum(head);
}

/** Returns true if the header has the tar magic, whatever its checksum. */
export function hasTarMagic(head: Uint8Array): boolean {
  return head.length >= BLOCK_BYTES && head[FIELD.magic] === 0x75 && latin1(head, FIELD.magic, 5) === 'ustar';
}

/** Verifies the sum of all bytes with the checksum field taken as blanks; some old programs sum signed bytes. */
function hasChecksum(block: Uint8Array): boolean {
  const stated = numberAt(block, FIELD.checksum, 8);
  if (!(stated > 0)) return false;
  let unsigned = 8 * 0x20;
  let high = 0;
  for (let i = 0; i < BLOCK_BYTES; i++) {
    if (i === FIELD.checksum) i += 8;
    const byte = block[i]!;
    unsigned += byte;
    if (byte > 0x7f) high++;
  }
  return stated === unsigned || stated === unsigned - 256 * high;
}

/** Parses octal digits, or GNU's binary form if the first bit is set. */
function numberAt(block: Uint8Array, offset: number, length: number): number {
  const first = block[offset]!;
  if (first === 0x80) {
    let value = 0;
    for (let i = offset + 1; i < offset + length; i++) value = value * 256 + block[i]!;
    return Number.isSafeInteger(value) ? value : NaN;
  }
  let value = 0;
  let i = offset;
  const end = offset + length;
  while (i < end && (block[i] === 0x20 || block[i] === 0)) i++;
  for (; i < end && block[i] !== 0x20 && block[i] !== 0; i++) {
    const digit = block[i]! - 0x30;
    if (digit < 0 || digit > 7) return NaN;
    value = value * 8 + digit;
  }
  return value;
}

function nameOf(block: Uint8Array): Uint8Array {
  const name = untilZero(block, FIELD.name, 100);
  // GNU's magic is followed by blanks, and its prefix field holds other things than in POSIX.
  if (block[FIELD.prefix] === 0 || latin1(block, FIELD.magic, 6) !== 'ustar\0') return name;
  const prefix = untilZero(block, FIELD.prefix, 155);
  return Buffer.concat([prefix, Buffer.from('/'), name]);
}

function untilZero(block: Uint8Array, offset: number, length: number): Uint8Array {
  const end = block.indexOf(0, offset);
  return block.slice(offset, end < 0 || end > offset + length ? offset + length : end);
}

function latin1(bytes: Uint8Array, offset: number, length: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + offset, length).toString('latin1');
}

/** Fields of the extended header that precedes an entry. */
export interface PaxRecords {
  path?: Uint8Array;
  size?: number;
}

/** Parses records of the form `length key=value\n`; stops at the first malformed one. */
export function parsePax(body: Uint8Array): PaxRecords {
  const records: PaxRecords = {};
  let at = 0;
  while (at < body.length) {
    const blank = body.indexOf(0x20, at);
    if (blank < 0 || blank - at > 10) break;
    const length = Number(latin1(body, at, blank - at));
    const equals = body.indexOf(0x3d, blank);
    const end = at + length;
    if (!(length > 0) || end > body.length || equals < 0 || equals >= end) break;
    const key = latin1(body, blank + 1, equals - blank - 1);
    const value = body.slice(equals + 1, end - 1);
    if (key === 'size') {
      const size = Number(latin1(value, 0, value.length));
      if (Number.isSafeInteger(size) && size >= 0) records.size = size;
    } else if (key === 'path') {
      records.path ??= value;
    } else if (key === 'GNU.sparse.name') {
      records.path = value;
    }
    at = end;
  }
  return records;
}
