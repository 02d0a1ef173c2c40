import { constants, inflateSync } from 'node:zlib';

import {
  isArray,
  isDictionary,
  nameOf,
  PdfLexer,
  type PdfDictionary,
  type PdfValue,
  referenceOf,
  wordOf,
} from './values.ts';

/** Unpacked bytes of one stream, and objects of a document. */
const STREAM_BYTES_MAX = 16 * 1024 * 1024;
const OBJECTS_MAX = 500_000;
const PACKED_OBJECTS_BYTES_MAX = 64 * 1024 * 1024;
const REFERENCES_MAX = 16;
const TRAILER_CHARACTERS = 64 * 1024;

export interface PdfObject {
  number: number;
  value: PdfValue;
  /** Where its stream is in the file; null without one. */
  stream: { from: number; to: number } | null;
}

/** What unpacking a stream costs, and what is wrong with it. */
export interface StreamMeter {
  unpacked(packedBytes: number, bytes: number): void;
  failed(object: number, message: string): void;
}

const SKIPPED_FILTERS = /^(?:DCTDecode|DCT|JPXDecode|CCITTFaxDecode|CCF|JBIG2Decode)$/;

/** The objects of a PDF file, found by their beginnings: neither its directory nor its order matter. */
export class PdfDocument {
  /** In the order of the file; of an object that was changed, all versions. */
  readonly objects: readonly PdfObject[];
  readonly isEncrypted: boolean;
  readonly #latest: ReadonlyMap<number, PdfObject>;
  readonly #text: string;
  readonly #meter: StreamMeter;
  /** Unpacked bytes of streams of objects. */
  #packedBytes = 0;

  constructor(bytes: Buffer, meter: StreamMeter) {
    this.#text = bytes.toString('latin1');
    this.#meter = meter;
    const objects = objectsIn(this.#text);
    const trailers = trailersIn(this.#text);
    const dictionaries = objects.map(({ value }) => value).filter(isDictionary);
    const xrefs = dictionaries.filter((value) => nameOf(value.get('Type')) === 'XRef');
    this.isEncrypted = [...trailers, ...xrefs].some((value) => value.has('Encrypt'));
    if (!this.isEncrypted) for (const object of [...objects]) this.#addPacked(object, objects);
    this.objects = objects;
    this.#latest = new Map(objects.map((object) => [object.number, object]));
  }

  /** Follows references. */
  resolve(value: PdfValue | undefined): PdfValue | undefined {
    let found = value;
    for (let step = 0; step < REFERENCES_MAX; step++) {
      const number = referenceOf(found);
      if (number === null) return found;
      found = this.#latest.get(number)?.value;
    }
    return undefined;
  }

  object(value: PdfValue | undefined): PdfObject | null {
    return this.#latest.get(referenceOf(value) ?? -1) ?? null;
  }

  dictionary(value: PdfValue | undefined): PdfDictionary | null {
    const found = this.resolve(value);
    return isDictionary(found) ? found : null;
  }

  /** Returns the bytes of a stream; null if it has none, or is a picture. */
  bytesOf({ number, value, stream }: PdfObject): Buffer | null {
    if (stream === null || !isDictionary(value)) return null;
    const named = this.resolve(value.get('Filter') ?? value.get('F'));
    const filters = (isArray(named) ? named : named === undefined ? [] : [named]).map((each) =>
      nameOf(this.resolve(each)),
    );
    let bytes: Buffer = Buffer.from(this.#text.slice(stream.from, stream.to), 'latin1');
    // Many pages may share a stream: what is read again counts again.
    if (filters.length === 0) this.#meter.unpacked(bytes.length, bytes.length);
    for (const filter of filters) {
      if (filter === null || SKIPPED_FILTERS.test(filter)) return null;
      const unpacked = this.#unfilter(filter, bytes, number);
      if (unpacked === null) return null;
      bytes = unpacked;
    }
    return bytes;
  }

  #unfilter(filter: string, bytes: Buffer, number: number): Buffer | null {
    if (filter === 'ASCIIHexDecode' || filter === 'AHx')
      return Buffer.from(bytes.toString('latin1').replace(/>.*$/s, '').replace(/\s/g, ''), 'hex');
    if (filter === 'ASCII85Decode' || filter === 'A85') return ascii85(bytes);
    if (filter !== 'FlateDecode' && filter !== 'Fl') {
      this.#meter.failed(number, `it is packed with ${filter}, which is not supported`);
      return null;
    }
    try {
      const options = { maxOutputLength: STREAM_BYTES_MAX, finishFlush: constants.Z_SYNC_FLUSH };
      const unpacked = inflateSync(bytes, options);
      this.#meter.unpacked(bytes.length, unpacked.length);
      return unpacked;
    } catch (error) {
      const isLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
      this.#meter.unpacked(bytes.length, isLarge ? STREAM_BYTES_MAX : 0);
      this.#meter.failed(number, isLarge ? 'it unpacks to more than 16 MiB' : 'its data is damaged');
      return null;
    }
  }

  #addPacked(object: PdfObject, objects: PdfObject[]): void {
    for (const packed of this.#packedObjects(object)) if (objects.length < OBJECTS_MAX) objects.push(packed);
  }

  /** Returns the objects in a stream of them. */
  #packedObjects(object: PdfObject): PdfObject[] {
    const { value } = object;
    if (!isDictionary(value) || nameOf(value.get('Type')) !== 'ObjStm') return [];
    if (this.#packedBytes > PACKED_OBJECTS_BYTES_MAX) {
      this.#meter.failed(object.number, 'the objects of the document unpack to more than 64 MiB');
      return [];
    }
    const text = this.bytesOf(object)?.toString('latin1') ?? '';
    this.#packedBytes += text.length;
    const first = value.get('First');
    const lexer = new PdfLexer(text);
    const objects: PdfObject[] = [];
    while (typeof first === 'number' && lexer.at < first && objects.length < OBJECTS_MAX) {
      const [number, offset] = [lexer.next(), lexer.next()];
      if (typeof number !== 'number' || typeof offset !== 'number') break;
      const packed = new PdfLexer(text, Math.max(0, first + offset)).next();
      if (packed !== null) objects.push({ number, value: packed, stream: null });
    }
    return objects;
  }
}

/** Finds `12 0 obj` and reads what follows. */
function objectsIn(text: string): PdfObject[] {
  const objects: PdfObject[] = [];
  for (let at = text.indexOf('obj'); at >= 0 && objects.length < OBJECTS_MAX; at = text.indexOf('obj', at)) {
    const [, number] = /(\d{1,9})\s{1,4}\d{1,5}\s{1,4}$/.exec(text.slice(Math.max(0, at - 24), at)) ?? [];
    at += 3;
    if (number === undefined) continue;
    const lexer = new PdfLexer(text, at);
    const value = lexer.next();
    if (value === null) break;
    at = Math.max(at, lexer.at);
    const stream = isDictionary(value) ? streamAt(text, lexer, value) : null;
    if (stream !== null) at = stream.to;
    objects.push({ number: Number(number), value, stream });
  }
  return objects;
}

function streamAt(text: string, lexer: PdfLexer, dictionary: PdfDictionary): PdfObject['stream'] {
  if (wordOf(lexer.next() ?? undefined) !== 'stream') return null;
  const from = lexer.at + (text.startsWith('\r\n', lexer.at) ? 2 : 1);
  const length = dictionary.get('Length');
  if (typeof length === 'number' && length >= 0) {
    const to = from + length;
    if (/^\s{0,4}endstream/.test(text.slice(to, to + 16))) return { from, to };
  }
  const end = text.indexOf('endstream', from);
  return { from, to: end < 0 ? text.length : end };
}

function trailersIn(text: string): PdfDictionary[] {
  const trailers: PdfDictionary[] = [];
  for (let at = text.indexOf('trailer'); at >= 0 && trailers.length < 100; at = text.indexOf('trailer', at + 7)) {
    const value = new PdfLexer(text.slice(at + 7, at + 7 + TRAILER_CHARACTERS)).next() ?? undefined;
    if (isDictionary(value)) trailers.push(value);
  }
  return trailers;
}

function ascii85(bytes: Buffer): Buffer {
  const text = bytes
    .toString('latin1')
    .replace(/\s/g, '')
    .replace(/^<~/, '')
    .replace(/~.*$/s, '')
    .replaceAll('z', '!!!!!');
  const result = Buffer.alloc(Math.ceil(text.length / 5) * 4);
  let length = 0;
  for (let at = 0; at < text.length; at += 5) {
    const group = text.slice(at, at + 5);
    let value = 0;
    for (let index = 0; index < 5; index++) value = value * 85 + ((group.charCodeAt(index) || 117) - 33);
    result.writeUInt32BE(value >>> 0, length);
    length += group.length - 1;
  }
  return result.subarray(0, Math.max(0, length));
}
