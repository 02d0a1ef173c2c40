import { constants, crc32, deflateRawSync, gzipSync, zstdCompressSync } from 'node:zlib';

import { buildZip, directoryLine, endRecord, localHeader } from './zip.ts';

const MIB = 1024 * 1024;
const SEGMENT_BYTES = 16 * MIB;

/** Raw deflate data of zeros, compressed to about a thousandth, from one repeated segment. */
function deflatedZeros(bytes: number): Buffer {
  const segment = deflateRawSync(Buffer.alloc(SEGMENT_BYTES), { finishFlush: constants.Z_FULL_FLUSH });
  const count = Math.ceil(bytes / SEGMENT_BYTES);
  return Buffer.concat([...Array<Buffer>(count).fill(segment), deflateRawSync(Buffer.alloc(0))]);
}

/** One gzip member that unpacks to this many zeros (its checksum is wrong, but never reached). */
export function gzippedZeros(bytes: number): Buffer {
  return Buffer.concat([GZIP_HEADER, deflatedZeros(bytes), Buffer.alloc(8)]);
}

const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);

/** A thousand small members, each within the limits. */
export function gzipMembers(count: number, bytesEach: number): Buffer {
  return Buffer.concat(Array<Buffer>(count).fill(gzipSync(Buffer.alloc(bytesEach))));
}

/** One entry of this many zeros that declares a thousand bytes. */
export function lyingZip(bytes: number): Buffer {
  const packed = deflatedZeros(bytes);
  const lie = { size: 1000 };
  return buildZip([{ name: 'zeros', packed, local: lie, directory: lie }]);
}

/** `levels` nested archives, each with `width` copies of the inner one; the innermost entries are zeros. */
export function nestedZips(levels: number, width: number, zeros: number): Buffer {
  let inner = buildZip([
    { name: '0.dll', packed: deflatedZeros(zeros), directory: { size: zeros }, local: { size: zeros } },
  ]);
  for (let level = 1; level < levels; level++) {
    const content = inner;
    inner = buildZip(Array.from({ length: width }, (_, i) => ({ name: `${i}.zip`, content })));
  }
  return inner;
}

/** Nested gzip, stored, so that thousands of levels are created quickly. */
export function nestedGzips(levels: number): Buffer {
  let inner: Buffer = Buffer.from('the innermost');
  for (let level = 0; level < levels; level++) {
    const trailer = Buffer.alloc(8);
    trailer.writeUInt32LE(crc32(inner), 0);
    trailer.writeUInt32LE(inner.length, 4);
    inner = Buffer.concat([GZIP_HEADER, storedBlocks(inner), trailer]);
  }
  return inner;
}

function storedBlocks(bytes: Buffer): Buffer {
  const blocks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 65_535) {
    const part = bytes.subarray(at, at + 65_535);
    const isLast = at + part.length === bytes.length;
    blocks.push(
      Buffer.from([isLast ? 1 : 0, part.length & 255, part.length >> 8, ~part.length & 255, (~part.length >> 8) & 255]),
      part,
    );
  }
  return Buffer.concat(blocks);
}

export function nestedZstd(levels: number): Buffer {
  let inner: Buffer = Buffer.from('the innermost');
  for (let level = 0; level < levels; level++)
    inner = zstdCompressSync(inner, { params: { [constants.ZSTD_c_compressionLevel]: -5 } });
  return inner;
}

/** All directory lines point to the same data. */
export function sharedZip(entries: number, zeros: number): Buffer {
  const packed = deflatedZeros(zeros);
  const header = {
    flags: 0,
    method: 8,
    crc: 0,
    packed_size: packed.length,
    size: zeros,
    offset: 0,
    made_by: 0,
    attributes: 0,
  };
  const local = localHeader({ ...header, name: '0' });
  const lines = Array.from({ length: entries }, (_, i) => directoryLine({ ...header, name: String(i) }));
  const directory = Buffer.concat(lines);
  return Buffer.concat([local, packed, directory, endRecord(entries, directory.length, local.length + packed.length)]);
}

/** Each entry's data includes the next entry's header as a stored block, and continues into its data. */
export function quotingZip(entries: number, zeros: number): Buffer {
  const kernel = deflatedZeros(zeros);
  const common = { flags: 0, method: 8, crc: 0, made_by: 0, attributes: 0, offset: 0 };
  let tail = kernel;
  let size = zeros;
  const headers: { name: string; packed_size: number; size: number; at: number }[] = [];
  for (let i = entries - 1; i >= 0; i--) {
    const header = { name: `file-${i}`, packed_size: tail.length, size };
    const local = localHeader({ ...common, ...header });
    headers.unshift({ ...header, at: local.length + tail.length });
    const quote = Buffer.from([0, local.length, 0, ~local.length & 255, 255]);
    size += local.length;
    tail = Buffer.concat(i > 0 ? [quote, local, tail] : [local, tail]);
  }
  const lines = headers.map(({ at, ...header }) => directoryLine({ ...common, ...header, offset: tail.length - at }));
  const directory = Buffer.concat(lines);
  return Buffer.concat([tail, directory, endRecord(entries, directory.length, tail.length)]);
}
