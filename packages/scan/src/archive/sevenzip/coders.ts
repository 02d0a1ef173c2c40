import { ByteSource, type Input } from '../byte-source.ts';
import { createUnpacker } from '../compressed.ts';
import { Lzma2Unpacker } from '../unpack/lzma2.ts';
import { DICTIONARY_BYTES_MAX, LzmaStreamUnpacker } from '../unpack/lzma-stream.ts';
import { Damage, StoredUnpacker, type Unpacker } from '../unpack/unpacker.ts';
import { ZlibUnpacker } from '../unpack/zlib.ts';
import type { Coder, Folder } from './header.ts';

const COPY = '00';
const LZMA = '030101';
const LZMA2 = '21';
const DEFLATE = '040108';
const BZIP2 = '040202';
const ZSTD = '04f71101';
const AES = '06f10701';

/** Filters of machine code: they change addresses in programs, and no text. */
const FILTERS: ReadonlySet<string> = new Set(['03030103', '04', '05', '06', '07', '08', '09', '0a', '0b']);

const NAMES: Readonly<Record<string, string>> = {
  '03': 'delta',
  '030401': 'PPMd',
  '040109': 'Deflate64',
  '0303011b': 'BCJ2',
};

export function isFilter({ id }: Coder): boolean {
  return FILTERS.has(id);
}

/**
 * Creates the unpacker of a folder. Filters of machine code are not undone.
 * @throws Damage if it is encrypted, or one of its methods is not supported
 */
export function unpackerOf(input: Input, { coders, sizes }: Folder): Unpacker {
  if (coders === null) throw unsupported('BCJ2');
  if (coders.some(({ id }) => id === AES)) throw new Damage('the entry is encrypted', 'encrypted');
  const chain: Unpacker[] = [];
  for (const [index, coder] of coders.entries()) {
    if (isFilter(coder)) continue;
    const last = chain.at(-1);
    chain.push(coderOf(last === undefined ? input : inputOf(last), coder, sizes[index]!));
  }
  const last = chain.at(-1) ?? new StoredUnpacker(input, sizes.at(-1)!);
  const close = (): void => {
    for (const unpacker of chain.toReversed()) unpacker.close();
  };
  return { next: () => last.next(), close };
}

function coderOf(input: Input, { id, properties }: Coder, size: number): Unpacker {
  switch (id) {
    case COPY:
      return new StoredUnpacker(input, size);
    case LZMA:
      return lzmaOf(input, properties, size);
    case LZMA2:
      return lzma2Of(input, properties, size);
    case DEFLATE:
      return new ZlibUnpacker('deflate', input);
    case BZIP2:
      return createUnpacker('bzip2', input);
    case ZSTD:
      return createUnpacker('zstd', input);
    default:
      throw unsupported(NAMES[id] ?? `method ${id}`);
  }
}

function unsupported(name: string): Damage {
  return new Damage(`the entry is compressed with ${name}, which is not supported`, 'unsupported_archive');
}

function lzmaOf(input: Input, properties: Uint8Array, size: number): Unpacker {
  if (properties.length < 5) throw new Damage('the header of the archive is damaged');
  const dictionaryBytes = Buffer.from(properties).readUInt32LE(1);
  return new LzmaStreamUnpacker(input, { properties: properties[0]!, dictionaryBytes, size });
}

function lzma2Of(input: Input, properties: Uint8Array, size: number): Unpacker {
  const bits = properties[0] ?? 41;
  if (bits > 40) throw new Damage('the header of the archive is damaged');
  const dictionaryBytes = bits === 40 ? 2 ** 32 - 1 : (2 | (bits & 1)) * 2 ** (Math.floor(bits / 2) + 11);
  const windowBytes = Math.max(4096, Math.min(dictionaryBytes, size));
  if (windowBytes > DICTIONARY_BYTES_MAX)
    throw new Damage('unpacking the data needs more memory than the limit of 128 MiB', 'unsupported_archive');
  const unpacker = new Lzma2Unpacker(input, windowBytes);
  return { next: () => unpacker.next(), close: () => undefined };
}

/** Turns the output of an unpacker into the input of the next. */
function inputOf(unpacker: Unpacker): Input {
  const unpack = { piece: new Uint8Array(0) as Uint8Array, ended: false };
  return new ByteSource({
    size: -1,
    access: 'carry',
    read: async (target, start, length) => {
      while (unpack.piece.length === 0 && !unpack.ended) {
        const piece = await unpacker.next();
        if (piece === null) unpack.ended = true;
        else unpack.piece = piece;
      }
      const count = Math.min(length, unpack.piece.length);
      target.set(unpack.piece.subarray(0, count), start);
      unpack.piece = unpack.piece.subarray(count);
      return count;
    },
    close: () => undefined,
  });
}
