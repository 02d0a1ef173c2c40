import type { ArchiveEntry } from '../port.ts';

/** Fields shared by a local header and a directory line. */
export interface ZipRecord {
  name: Uint8Array;
  flags: number;
  method: number;
  crc: number;
  packed_size: number;
  size: number;
  /** Bytes of the record itself. */
  length: number;
}

export interface DirectoryRecord extends ZipRecord {
  /** Offset of the local header from the declared start of the archive. */
  offset: number;
  disk: number;
  made_by: number;
  attributes: number;
}

export const SIGNATURE = {
  local: 0x04034b50,
  descriptor: 0x08074b50,
  directory: 0x02014b50,
  end: 0x06054b50,
  zip64_end: 0x06064b50,
  zip64_locator: 0x07064b50,
  extra_data: 0x08064b50,
  spanned: 0x30304b50,
} as const;

export const FLAG = {
  encrypted: 1,
  lzma_end_marker: 2,
  descriptor: 8,
  strong_encryption: 64,
  utf8: 2048,
  masked: 8192,
} as const;

export const LOCAL_BYTES = 30;
export const DIRECTORY_BYTES = 46;
const MARK_32 = 0xffffffff;

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

export function signatureOf(bytes: Uint8Array): number {
  return bytes.length < 4 ? 0 : viewOf(bytes).getUint32(0, true);
}

/** Returns the length of the local header at the start of `bytes`, including name and extra fields. */
export function localLength(bytes: Uint8Array): number {
  const view = viewOf(bytes);
  return LOCAL_BYTES + view.getUint16(26, true) + view.getUint16(28, true);
}

/** Returns the length of the directory line at the start of `bytes`. */
export function directoryLength(bytes: Uint8Array): number {
  const view = viewOf(bytes);
  return DIRECTORY_BYTES + view.getUint16(28, true) + view.getUint16(30, true) + view.getUint16(32, true);
}

/** Parses a local header that `bytes` contains completely. */
export function parseLocal(bytes: Uint8Array): ZipRecord {
  const view = viewOf(bytes);
  const nameLength = view.getUint16(26, true);
  const extraAt = LOCAL_BYTES + nameLength;
  const extra = bytes.subarray(extraAt, extraAt + view.getUint16(28, true));
  const [size, packed_size] = widen([view.getUint32(22, true), view.getUint32(18, true)], extra);
  return {
    name: bytes.slice(LOCAL_BYTES, extraAt),
    flags: view.getUint16(6, true),
    method: view.getUint16(8, true),
    crc: view.getUint32(14, true),
    packed_size: packed_size!,
    size: size!,
    length: localLength(bytes),
  };
}

/** Parses a directory line that `bytes` contains completely. */
export function parseDirectory(bytes: Uint8Array): DirectoryRecord {
  const view = viewOf(bytes);
  const nameLength = view.getUint16(28, true);
  const extraAt = DIRECTORY_BYTES + nameLength;
  const extra = bytes.subarray(extraAt, extraAt + view.getUint16(30, true));
  const narrow = [view.getUint32(24, true), view.getUint32(20, true), view.getUint32(42, true)];
  const [size, packed_size, offset] = widen(narrow, extra);
  return {
    name: bytes.slice(DIRECTORY_BYTES, extraAt),
    flags: view.getUint16(8, true),
    method: view.getUint16(10, true),
    crc: view.getUint32(16, true),
    packed_size: packed_size!,
    size: size!,
    length: directoryLength(bytes),
    offset: offset!,
    disk: view.getUint16(34, true),
    made_by: bytes[5]!,
    attributes: view.getUint32(38, true),
  };
}

/** Replaces each all-ones value with the next value of the zip64 field, if any is left. */
function widen(values: readonly number[], extra: Uint8Array): number[] {
  if (!values.includes(MARK_32)) return [...values];
  const field = extraField(extra, 1);
  let at = 0;
  return values.map((value) => {
    if (value !== MARK_32 || field === null || at + 8 > field.length) return value;
    at += 8;
    return Number(viewOf(field).getBigUint64(at - 8, true));
  });
}

function extraField(extra: Uint8Array, wanted: number): Uint8Array | null {
  const view = viewOf(extra);
  for (let at = 0; at + 4 <= extra.length;) {
    const length = view.getUint16(at + 2, true);
    if (view.getUint16(at, true) === wanted) return extra.subarray(at + 4, at + 4 + length);
    at += 4 + length;
  }
  return null;
}

const UNIX = 3;
const FILE_TYPE = { mask: 0xf000, file: 0x8000, directory: 0x4000, link: 0xa000 } as const;
/** Anything longer is not treated as a link. */
const LINK_BYTES_MAX = 4096;

/**
 * Returns an entry's kind. An entry with data is a file, whatever its attributes claim, so that its data is scanned.
 */
export function kindOf({ size, made_by, attributes }: DirectoryRecord, name: string): ArchiveEntry['kind'] {
  const type = made_by === UNIX ? (attributes >>> 16) & FILE_TYPE.mask : 0;
  if (type === FILE_TYPE.link && size <= LINK_BYTES_MAX) return 'link';
  if (size > 0) return 'file';
  if (name.endsWith('/') || type === FILE_TYPE.directory) return 'directory';
  return type === 0 || type === FILE_TYPE.file ? 'file' : 'special';
}
