import { gunzipSync } from 'node:zlib';

import { systemRandom } from '@heddle/base/random';
import type { ByteSource } from '../byte-source.ts';
import { METHOD } from './content.ts';
import { FLAG, LOCAL_BYTES, localLength, SIGNATURE, signatureOf, type DirectoryRecord } from './records.ts';

/** Limits of unpacked bytes per entry and per batch. */
const ENTRY_BYTES_MAX = 32 * 1024;
const BATCH_BYTES_MAX = 256 * 1024;
const PACKED_BYTES_MAX = 64 * 1024;
/** Directory lines considered for one batch. */
export const BATCH_ENTRIES_MAX = 64;
/** Entries that are farther apart are not read together. */
const GAP_BYTES_MAX = 64 * 1024;

const TRAILER_BYTES = 8;
const SALT_BYTES = 16;
/** A gzip header with an extra field. */
const MEMBER_HEADER = Buffer.concat([
  Buffer.from([0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, SALT_BYTES, 0]),
  Buffer.alloc(SALT_BYTES),
]);

/**
 * Unpacks small deflated entries together, since the setup costs more than unpacking one of them: each becomes a
 * member of one gzip file, whose checksums and lengths zlib verifies against the directory. Random bytes separate the
 * members, so that no entry's data can be crafted to run into the next.
 */
export class EntryBatch {
  readonly #source: ByteSource;
  readonly #shift: number;
  readonly #header = Buffer.from(MEMBER_HEADER);
  #packed: Buffer | null = null;
  #unpacked = new Map<DirectoryRecord, Uint8Array>();
  /** Entries of a failed batch are unpacked individually. */
  #refused = new Set<DirectoryRecord>();

  /** `shift`: bytes in the source before the archive's own byte 0. */
  constructor(source: ByteSource, shift: number) {
    this.#source = source;
    this.#shift = shift;
  }

  /** Returns the entry's content if it could be unpacked with its successors; `ahead` holds their lines. */
  async take(record: DirectoryRecord, ahead: () => Promise<readonly DirectoryRecord[]>): Promise<Uint8Array | null> {
    if (!isSmall(record) || this.#refused.has(record)) return null;
    if (!this.#unpacked.has(record)) await this.#fill(record, await ahead());
    const bytes = this.#unpacked.get(record);
    this.#unpacked.delete(record);
    return bytes ?? null;
  }

  async #fill(first: DirectoryRecord, ahead: readonly DirectoryRecord[]): Promise<void> {
    this.#packed ??= Buffer.allocUnsafe(BATCH_BYTES_MAX);
    this.#header.set(systemRandom.bytes(SALT_BYTES), this.#header.length - SALT_BYTES);
    const batch: DirectoryRecord[] = [];
    let [packedBytes, bytes] = [0, 0];
    let end = first.offset;
    for (const record of [first, ...ahead]) {
      // Empty and large entries are skipped here and read individually.
      if (!isSmall(record)) continue;
      const memberBytes = this.#header.length + record.packed_size + TRAILER_BYTES;
      if (packedBytes + memberBytes > BATCH_BYTES_MAX || bytes + record.size > BATCH_BYTES_MAX) break;
      if (record.offset < end || record.offset > end + GAP_BYTES_MAX) break;
      if (!(await this.#addMember(record, packedBytes))) break;
      batch.push(record);
      packedBytes += memberBytes;
      bytes += record.size;
      end = record.offset + LOCAL_BYTES + record.packed_size;
    }
    this.#unpack(batch, packedBytes, bytes);
  }

  /** Copies one entry into the file; returns false if its local header is missing or differs. */
  async #addMember(record: DirectoryRecord, at: number): Promise<boolean> {
    const source = this.#source;
    const offset = record.offset + this.#shift;
    if (!(offset >= 0 && offset < source.reader.size)) return false;
    source.seek(offset);
    const head = await source.peek(LOCAL_BYTES);
    if (head.length < LOCAL_BYTES || signatureOf(head) !== SIGNATURE.local) return false;
    const start = localLength(head);
    const end = start + record.packed_size;
    const bytes = head.length >= end ? head : await source.peek(end);
    if (bytes.length < end || !isSameEntry(bytes, record)) return false;
    const packed = this.#packed!;
    this.#header.copy(packed, at);
    packed.set(bytes.subarray(start, end), at + this.#header.length);
    const trailer = at + this.#header.length + record.packed_size;
    packed.writeUInt32LE(record.crc, trailer);
    packed.writeUInt32LE(record.size, trailer + 4);
    return true;
  }

  #unpack(batch: readonly DirectoryRecord[], packedBytes: number, bytes: number): void {
    this.#unpacked.clear();
    this.#refused.clear();
    if (batch.length < 2) return;
    try {
      const unpacked = gunzipSync(this.#packed!.subarray(0, packedBytes), {
        maxOutputLength: bytes,
        chunkSize: bytes + 1,
      });
      if (unpacked.length !== bytes) throw new Error('zip: lengths differ from the declared ones');
      let at = 0;
      for (const record of batch) this.#unpacked.set(record, unpacked.subarray(at, (at += record.size)));
    } catch {
      this.#unpacked.clear();
      this.#refused = new Set(batch);
    }
  }
}

function isSmall({ method, flags, size, packed_size }: DirectoryRecord): boolean {
  const isEncrypted = (flags & (FLAG.encrypted | FLAG.strong_encryption | FLAG.masked)) !== 0;
  const fits = size > 0 && size <= ENTRY_BYTES_MAX && packed_size <= PACKED_BYTES_MAX;
  return method === METHOD.deflate && !isEncrypted && fits;
}

/** Returns whether an entry's local header has the directory's name and method. */
function isSameEntry(header: Uint8Array, { name, method }: DirectoryRecord): boolean {
  if ((header[8]! | (header[9]! << 8)) !== method || (header[26]! | (header[27]! << 8)) !== name.length) return false;
  for (let i = 0; i < name.length; i++) if (header[LOCAL_BYTES + i] !== name[i]) return false;
  return true;
}
