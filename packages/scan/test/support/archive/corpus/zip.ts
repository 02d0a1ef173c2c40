import { crc32, deflateRawSync } from 'node:zlib';

/** The fields of a header, any of which may be wrong. */
export interface ZipHeader {
  name?: string | Uint8Array;
  flags?: number;
  method?: number;
  crc?: number;
  packed_size?: number;
  size?: number;
  offset?: number;
  made_by?: number;
  attributes?: number;
}

export interface ZipEntry {
  name: string | Uint8Array;
  content?: string | Uint8Array;
  stored?: boolean;
  /** The compressed bytes, if not derived from the content. */
  packed?: Uint8Array;
  /** Puts sizes and checksum after the data. */
  descriptor?: 'marked' | 'unmarked';
  local?: ZipHeader;
  directory?: ZipHeader;
}

export interface ZipOptions {
  stub?: Uint8Array;
  comment?: string;
  /** Number of entries in the end record. */
  stated_entries?: number;
}

function bytesOf(text: string | Uint8Array): Buffer {
  return typeof text === 'string' ? Buffer.from(text) : Buffer.from(text);
}

/** Builds a zip file exactly as specified. */
export function buildZip(entries: readonly ZipEntry[], options: ZipOptions = {}): Buffer {
  const parts: Buffer[] = [Buffer.from(options.stub ?? [])];
  const lines: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const content = bytesOf(entry.content ?? '');
    const packed = Buffer.from(entry.packed ?? (entry.stored === true ? content : deflateRawSync(content)));
    const truth = {
      name: entry.name,
      flags: entry.descriptor === undefined ? 0 : 8,
      method: entry.stored === true ? 0 : 8,
      crc: crc32(content),
      packed_size: packed.length,
      size: content.length,
      offset,
      made_by: 0,
      attributes: 0,
    };
    const hidden = entry.descriptor === undefined ? {} : { crc: 0, packed_size: 0, size: 0 };
    const local = localHeader({ ...truth, ...hidden, ...entry.local });
    const descriptor = descriptorOf(entry, truth);
    parts.push(local, packed, descriptor);
    lines.push(directoryLine({ ...truth, ...entry.directory }));
    offset += local.length + packed.length + descriptor.length;
  }
  const directory = Buffer.concat(lines);
  return Buffer.concat([
    ...parts,
    directory,
    endRecord(options.stated_entries ?? entries.length, directory.length, offset, options.comment ?? ''),
  ]);
}

function descriptorOf({ descriptor }: ZipEntry, { crc, packed_size, size }: Required<ZipHeader>): Buffer {
  if (descriptor === undefined) return Buffer.alloc(0);
  const bytes = Buffer.alloc(16);
  bytes.write('PK\x07\x08', 'latin1');
  bytes.writeUInt32LE(crc, 4);
  bytes.writeUInt32LE(packed_size, 8);
  bytes.writeUInt32LE(size, 12);
  return descriptor === 'marked' ? bytes : bytes.subarray(4);
}

export function localHeader(header: Required<ZipHeader>): Buffer {
  const name = bytesOf(header.name);
  const bytes = Buffer.alloc(30);
  bytes.write('PK\x03\x04', 'latin1');
  bytes.writeUInt16LE(20, 4);
  bytes.writeUInt16LE(header.flags, 6);
  bytes.writeUInt16LE(header.method, 8);
  bytes.writeUInt32LE(header.crc, 14);
  bytes.writeUInt32LE(header.packed_size, 18);
  bytes.writeUInt32LE(header.size, 22);
  bytes.writeUInt16LE(name.length, 26);
  return Buffer.concat([bytes, name]);
}

export function directoryLine(header: Required<ZipHeader>): Buffer {
  const name = bytesOf(header.name);
  const bytes = Buffer.alloc(46);
  bytes.write('PK\x01\x02', 'latin1');
  bytes[4] = 20;
  bytes[5] = header.made_by;
  bytes.writeUInt16LE(20, 6);
  bytes.writeUInt16LE(header.flags, 8);
  bytes.writeUInt16LE(header.method, 10);
  bytes.writeUInt32LE(header.crc, 16);
  bytes.writeUInt32LE(header.packed_size, 20);
  bytes.writeUInt32LE(header.size, 24);
  bytes.writeUInt16LE(name.length, 28);
  bytes.writeUInt32LE(header.attributes, 38);
  bytes.writeUInt32LE(header.offset, 42);
  return Buffer.concat([bytes, name]);
}

export function endRecord(entries: number, directoryBytes: number, offset: number, comment = ''): Buffer {
  const bytes = Buffer.alloc(22);
  bytes.write('PK\x05\x06', 'latin1');
  bytes.writeUInt16LE(entries % 65_536, 8);
  bytes.writeUInt16LE(entries % 65_536, 10);
  bytes.writeUInt32LE(directoryBytes, 12);
  bytes.writeUInt32LE(offset, 16);
  bytes.writeUInt16LE(comment.length, 20);
  return Buffer.concat([bytes, Buffer.from(comment)]);
}
