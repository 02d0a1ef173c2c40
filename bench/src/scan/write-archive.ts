import { crc32, deflateRawSync, gzipSync } from 'node:zlib';

export interface ArchiveFile {
  name: string;
  content: Buffer;
}

const LOCAL_HEADER = 0x04034b50;
const CENTRAL_HEADER = 0x02014b50;
const END_OF_CENTRAL_DIRECTORY = 0x06054b50;
const UTF8_NAMES = 0x0800;
const DEFLATED = 8;
/** 1980-01-01, so that the same content produces the same archive. */
const DOS_DATE = 0x21;
const VERSION = 20;

/** A zip archive with deflated entries. */
export function makeZip(files: readonly ArchiveFile[]): Buffer {
  const pieces: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content } of files) {
    const nameBytes = Buffer.from(name);
    const packed = deflateRawSync(content);
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(VERSION, 0);
    facts.writeUInt16LE(UTF8_NAMES, 2);
    facts.writeUInt16LE(DEFLATED, 4);
    facts.writeUInt16LE(DOS_DATE, 8);
    facts.writeUInt32LE(crc32(content), 10);
    facts.writeUInt32LE(packed.length, 14);
    facts.writeUInt32LE(content.length, 18);
    facts.writeUInt16LE(nameBytes.length, 22);
    const local = Buffer.concat([uint32(LOCAL_HEADER), facts, nameBytes, packed]);
    // Comment, disk, attributes, and the offset of the entry.
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directory.push(uint32(CENTRAL_HEADER), uint16(VERSION), facts, rest, nameBytes);
    pieces.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.length, 4);
  end.writeUInt16LE(files.length, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...pieces, central, uint32(END_OF_CENTRAL_DIRECTORY), end]);
}

const BLOCK_BYTES = 512;

/** A tar archive (ustar), packed with gzip. */
export function makeTarGz(files: readonly ArchiveFile[]): Buffer {
  const pieces: Buffer[] = [];
  for (const { name, content } of files) {
    const header = Buffer.alloc(BLOCK_BYTES);
    header.write(name, 0, 100);
    header.write('0000644\0' + '0000000\0' + '0000000\0', 100);
    header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
    header.write(`${'0'.repeat(11)}\0        0`, 136);
    header.write('ustar\x0000', 257);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    pieces.push(header, content, Buffer.alloc((BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES));
  }
  return gzipSync(Buffer.concat([...pieces, Buffer.alloc(2 * BLOCK_BYTES)]));
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
