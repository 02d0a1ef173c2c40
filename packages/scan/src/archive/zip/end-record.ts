import type { ByteSource } from '../byte-source.ts';
import { signatureOf, SIGNATURE, viewOf } from './records.ts';

/** The position of the directory in the file; `shift` is the number of bytes before the archive's own byte 0. */
export interface Directory {
  start: number;
  end: number;
  shift: number;
  entries: number;
  /** The archive was split over several files. */
  is_split: boolean;
}

const END_BYTES = 22;
const LOCATOR_BYTES = 20;
const ZIP64_END_BYTES = 56;
/** A comment has at most 65,535 bytes; as much again may have been appended. */
const TAIL_BYTES = 128 * 1024;

/** Finds the directory from the end of the file; returns null if there is none. */
export async function findDirectory(source: ByteSource): Promise<Directory | null> {
  const { size } = source.reader;
  const tailStart = Math.max(0, size - TAIL_BYTES);
  source.seek(tailStart);
  const tail = (await source.peek(Math.min(size, TAIL_BYTES))).slice(0, size - tailStart);
  const at = endRecordAt(tail);
  if (at < 0) return null;
  const view = viewOf(tail);
  const endAt = tailStart + at;
  const narrow: Located = {
    entries: view.getUint16(at + 10, true),
    bytes: view.getUint32(at + 12, true),
    offset: view.getUint32(at + 16, true),
    before: endAt,
    is_split: (view.getUint16(at + 4, true) | view.getUint16(at + 6, true)) !== 0,
  };
  const located = (await widenEnd(source, tail, at, narrow)) ?? narrow;
  return place(source, located);
}

interface Located {
  entries: number;
  bytes: number;
  offset: number;
  /** The offset that the directory ends at if nothing lies between. */
  before: number;
  is_split: boolean;
}

/** Returns the last record whose comment ends with the file, else the last one whose comment fits. */
function endRecordAt(tail: Uint8Array): number {
  const buffer = Buffer.from(tail.buffer, tail.byteOffset, tail.length);
  let fitting = -1;
  for (let at = tail.length - END_BYTES; at >= 0; at--) {
    at = buffer.lastIndexOf('PK\x05\x06', at, 'latin1');
    if (at < 0) break;
    const end = at + END_BYTES + buffer.readUInt16LE(at + 20);
    if (end === tail.length) return at;
    if (end < tail.length && fitting < 0) fitting = at;
  }
  return fitting;
}

/** Returns the zip64 form of the end record if a locator points to one. */
async function widenEnd(source: ByteSource, tail: Uint8Array, at: number, narrow: Located): Promise<Located | null> {
  const locator = tail.subarray(Math.max(0, at - LOCATOR_BYTES), at);
  if (locator.length < LOCATOR_BYTES || signatureOf(locator) !== SIGNATURE.zip64_locator) return null;
  const stated = Number(viewOf(locator).getBigUint64(8, true));
  // Data before the archive shifts the offset; the record usually precedes its locator directly.
  for (const offset of [stated, narrow.before - LOCATOR_BYTES - ZIP64_END_BYTES]) {
    if (!Number.isSafeInteger(offset) || offset < 0 || offset > source.reader.size) continue;
    source.seek(offset);
    const record = await source.peek(ZIP64_END_BYTES);
    if (record.length < ZIP64_END_BYTES || signatureOf(record) !== SIGNATURE.zip64_end) continue;
    const view = viewOf(record);
    return {
      entries: Number(view.getBigUint64(32, true)),
      bytes: Number(view.getBigUint64(40, true)),
      offset: Number(view.getBigUint64(48, true)),
      before: offset,
      is_split: (view.getUint32(16, true) | view.getUint32(20, true)) !== 0,
    };
  }
  return null;
}

/**
 * Returns the directory's actual position: directly before its end record or at the declared offset; null if it is at
 * neither.
 */
async function place(source: ByteSource, located: Located): Promise<Directory | null> {
  const { entries, bytes, offset, before, is_split } = located;
  for (const start of [before - bytes, offset]) {
    if (!(start >= 0 && start <= before)) continue;
    source.seek(start);
    const signature = signatureOf(await source.peek(4));
    const isEmpty = bytes === 0 && entries === 0;
    if (signature !== SIGNATURE.directory && !isEmpty) continue;
    return { start, end: Math.min(start + bytes, before), shift: start - offset, entries, is_split };
  }
  return is_split ? { start: before, end: before, shift: 0, entries, is_split } : null;
}
