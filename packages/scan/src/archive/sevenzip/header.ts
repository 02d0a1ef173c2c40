import { Damage } from '../unpack/unpacker.ts';

/** One method of a folder with its parameters. */
export interface Coder {
  /** Hexadecimal. */
  id: string;
  properties: Uint8Array;
}

/** A group of entries that are compressed together. */
export interface Folder {
  /** In the order of unpacking; null if they form no chain, as with the filter BCJ2. */
  coders: readonly Coder[] | null;
  /** Bytes after the signature header, and their number. */
  packed_at: number;
  packed_size: number;
  /** Unpacked bytes of each coder, in the same order. */
  sizes: readonly number[];
  /** Unpacked bytes of each entry. */
  entries: number[];
  /** Checksums of the entries, where they are stored. */
  checksums: (number | undefined)[];
}

export interface SevenZipFile {
  name: string;
  has_stream: boolean;
  is_directory: boolean;
}

const ID = {
  end: 0,
  header: 1,
  properties: 2,
  additional: 3,
  streams: 4,
  files: 5,
  pack: 6,
  folders: 7,
  substreams: 8,
  size: 9,
  crc: 10,
  folder: 11,
  sizes: 12,
  counts: 13,
  empty_stream: 14,
  empty_file: 15,
  names: 17,
  attributes: 21,
  encoded: 23,
} as const;

const CODERS_MAX = 8;

/** Parses the header, or the description of a compressed one (`files` is null then). */
export function parseHeader(bytes: Uint8Array): { folders: Folder[]; files: SevenZipFile[] | null } {
  const reader = new HeaderReader(bytes);
  const id = reader.number();
  if (id === ID.encoded) return { folders: readStreams(reader), files: null };
  if (id !== ID.header) throw damaged();
  let folders: Folder[] = [];
  let files: SevenZipFile[] = [];
  for (;;) {
    const part = reader.number();
    if (part === ID.end) return { folders, files };
    if (part === ID.properties) skipProperties(reader);
    else if (part === ID.additional) readStreams(reader);
    else if (part === ID.streams) folders = readStreams(reader);
    else if (part === ID.files) files = readFiles(reader);
    else throw damaged();
  }
}

function damaged(): Damage {
  return new Damage('the header of the archive is damaged');
}

class HeaderReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  byte(): number {
    if (this.left < 1) throw damaged();
    return this.#bytes[this.#at++]!;
  }

  take(length: number): Buffer {
    if (length > this.left) throw damaged();
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  /** Reads a number whose first byte says how many follow. */
  number(): number {
    const first = this.byte();
    let value = 0;
    for (let index = 0; index < 8; index++) {
      const mask = 0x80 >> index;
      if ((first & mask) === 0) return checked(value + (first & (mask - 1)) * 2 ** (8 * index));
      value += this.byte() * 2 ** (8 * index);
    }
    return checked(value);
  }

  /** Reads a count of things that take a bit at least. */
  count(): number {
    const count = this.number();
    if (count > this.left * 8) throw damaged();
    return count;
  }

  bits(count: number): boolean[] {
    const bytes = this.take(Math.ceil(count / 8));
    return Array.from({ length: count }, (_, index) => (bytes[index >> 3]! & (0x80 >> (index & 7))) !== 0);
  }

  /** Reads bits that a byte may replace: all are set. */
  optionalBits(count: number): boolean[] {
    return this.byte() === 0 ? this.bits(count) : new Array<boolean>(count).fill(true);
  }

  checksums(count: number): (number | undefined)[] {
    return this.optionalBits(count).map((isThere) => (isThere ? this.take(4).readUInt32LE() : undefined));
  }
}

function checked(value: number): number {
  if (!Number.isSafeInteger(value)) throw damaged();
  return value;
}

function skipProperties(reader: HeaderReader): void {
  while (reader.number() !== ID.end) reader.take(reader.number());
}

function readStreams(reader: HeaderReader): Folder[] {
  let at = 0;
  let packed: number[] = [];
  let folders: Folder[] = [];
  for (;;) {
    const id = reader.number();
    if (id === ID.end) break;
    if (id === ID.pack) ({ at, sizes: packed } = readPacked(reader));
    else if (id === ID.folders) folders = readFolders(reader);
    else if (id === ID.substreams) readSubstreams(reader, folders);
    else throw damaged();
  }
  // A chain has one packed stream; others are skipped by the number of theirs.
  let next = 0;
  for (const folder of folders) {
    const streams = packed.slice(next, next + streamsOf(folder));
    next += streamsOf(folder);
    folder.packed_at = at;
    folder.packed_size = streams.reduce((sum, size) => sum + size, 0);
    at = checked(at + folder.packed_size);
  }
  return folders;
}

const STREAMS = new WeakMap<Folder, number>();
const streamsOf = (folder: Folder): number => STREAMS.get(folder) ?? 1;

function readPacked(reader: HeaderReader): { at: number; sizes: number[] } {
  const at = reader.number();
  const count = reader.count();
  let sizes: number[] = [];
  for (;;) {
    const id = reader.number();
    if (id === ID.end) return { at, sizes };
    if (id === ID.size) sizes = Array.from({ length: count }, () => reader.number());
    else if (id === ID.crc) reader.checksums(count);
    else throw damaged();
  }
}

function readFolders(reader: HeaderReader): Folder[] {
  if (reader.number() !== ID.folder) throw damaged();
  const count = reader.count();
  if (reader.byte() !== 0) throw new Damage('the header refers to another place', 'unsupported_archive');
  const folders = Array.from({ length: count }, () => readFolder(reader));
  if (reader.number() !== ID.sizes) throw damaged();
  for (const folder of folders) {
    const sizes = folder.sizes.map(() => reader.number());
    const order = ORDERS.get(folder)!;
    folder.sizes = order.map((index) => sizes[index]!);
    folder.entries = [folder.sizes.at(-1)!];
  }
  for (;;) {
    const id = reader.number();
    if (id === ID.end) return folders;
    if (id !== ID.crc) throw damaged();
    for (const [index, checksum] of reader.checksums(count).entries()) folders[index]!.checksums = [checksum];
  }
}

/** The coders of each folder in the order of unpacking, by their numbers. */
const ORDERS = new WeakMap<Folder, number[]>();

function readFolder(reader: HeaderReader): Folder {
  const count = reader.number();
  if (count < 1 || count > CODERS_MAX) throw damaged();
  let inputs = 0;
  let outputs = 0;
  const coders: Coder[] = [];
  for (let index = 0; index < count; index++) {
    const flags = reader.byte();
    const id = reader.take(flags & 15).toString('hex');
    const isComplex = (flags & 16) !== 0;
    inputs += isComplex ? reader.number() : 1;
    outputs += isComplex ? reader.number() : 1;
    coders.push({ id, properties: (flags & 32) === 0 ? new Uint8Array(0) : reader.take(reader.number()) });
  }
  if (inputs > 64 || outputs > 64 || outputs < 1) throw damaged();
  const bonds = Array.from({ length: outputs - 1 }, () => ({ input: reader.number(), output: reader.number() }));
  const streams = inputs - bonds.length;
  if (streams < 1) throw damaged();
  if (streams > 1) for (let index = 0; index < streams; index++) reader.number();
  const isChain = streams === 1 && inputs === count && outputs === count;
  const order = isChain ? chainOf(count, bonds) : Array.from({ length: outputs }, (_, index) => index);
  const folder: Folder = {
    coders: isChain ? order.map((index) => coders[index]!) : null,
    packed_at: 0,
    packed_size: 0,
    sizes: new Array<number>(outputs).fill(0),
    entries: [],
    checksums: [],
  };
  ORDERS.set(folder, order);
  STREAMS.set(folder, streams);
  return folder;
}

/** Returns coders from that of the packed data on; each reads the output of the one before it. */
function chainOf(count: number, bonds: readonly { input: number; output: number }[]): number[] {
  const readerOf = new Map(bonds.map(({ input, output }) => [output, input]));
  const bound = new Set(bonds.map(({ input }) => input));
  const order: number[] = [];
  let next = Array.from({ length: count }, (_, index) => index).find((index) => !bound.has(index));
  for (; next !== undefined && next < count; next = readerOf.get(next)) {
    if (order.includes(next)) break;
    order.push(next);
  }
  if (order.length !== count) throw damaged();
  return order;
}

function readSubstreams(reader: HeaderReader, folders: readonly Folder[]): void {
  let counts = folders.map(() => 1);
  let id = reader.number();
  if (id === ID.counts) {
    counts = folders.map(() => reader.number());
    // Each entry but the first of a folder has a size of a byte at least.
    if (counts.reduce((sum, count) => sum + Math.max(0, count - 1), 0) > reader.left) throw damaged();
    id = reader.number();
  }
  for (const [index, folder] of folders.entries()) {
    const count = counts[index]!;
    let left = folder.sizes.at(-1)!;
    const sizes: number[] = [];
    for (let entry = 0; entry < count - 1; entry++) {
      const size = id === ID.size ? reader.number() : 0;
      left -= size;
      sizes.push(size);
    }
    if (left < 0) throw damaged();
    if (count > 0) sizes.push(left);
    folder.entries = sizes;
  }
  if (id === ID.size) id = reader.number();
  for (; id !== ID.end; id = reader.number()) {
    if (id !== ID.crc) throw damaged();
    readChecksums(reader, folders);
  }
}

/** Folders of one entry whose checksum is known have none here. */
function readChecksums(reader: HeaderReader, folders: readonly Folder[]): void {
  const unknown = folders.filter(({ entries, checksums }) => entries.length !== 1 || checksums[0] === undefined);
  const checksums = reader.checksums(unknown.reduce((sum, { entries }) => sum + entries.length, 0));
  let next = 0;
  for (const folder of unknown) {
    folder.checksums = checksums.slice(next, next + folder.entries.length);
    next += folder.entries.length;
  }
}

function readFiles(reader: HeaderReader): SevenZipFile[] {
  const count = reader.count();
  let names: string[] = [];
  let isEmpty: boolean[] = [];
  let isFile: boolean[] = [];
  for (;;) {
    const id = reader.number();
    if (id === ID.end) break;
    const property = new HeaderReader(reader.take(reader.number()));
    if (id === ID.empty_stream) isEmpty = property.bits(count);
    else if (id === ID.empty_file) isFile = property.bits(isEmpty.filter(Boolean).length);
    else if (id === ID.names && property.byte() === 0) names = namesIn(property.take(property.left));
  }
  let empties = 0;
  return Array.from({ length: count }, (_, index) => {
    const has_stream = isEmpty[index] !== true;
    const is_directory = !has_stream && isFile[empties++] !== true;
    return { name: names[index] ?? `entry ${index + 1}`, has_stream, is_directory };
  });
}

/** Names are UTF-16, each with a zero at its end. */
function namesIn(bytes: Buffer): string[] {
  const names = bytes
    .subarray(0, bytes.length & ~1)
    .toString('utf16le')
    .split('\0');
  names.pop();
  return names;
}
