import type { Input } from './byte-source.ts';
import type { CompressedFormat } from './port.ts';
import { Bzip2Unpacker } from './unpack/bzip2.ts';
import { GzipUnpacker } from './unpack/gzip.ts';
import { Lz4Unpacker } from './unpack/lz4.ts';
import { LzmaFileUnpacker } from './unpack/lzma-file.ts';
import type { Unpacker } from './unpack/unpacker.ts';
import { XzUnpacker } from './unpack/xz.ts';
import { ZstdUnpacker } from './unpack/zstd.ts';

/** Creates the decompressor of a format. */
export function createUnpacker(format: CompressedFormat, input: Input): Unpacker {
  switch (format) {
    case 'gzip':
      return new GzipUnpacker(input);
    case 'zstd':
      return new ZstdUnpacker(input);
    case 'bzip2':
      return new Bzip2Unpacker(input);
    case 'lz4':
      return new Lz4Unpacker(input);
    case 'lzma':
      return new LzmaFileUnpacker(input);
    case 'xz':
      return new XzUnpacker(input);
  }
}
