import type { Input } from './byte-source.ts';
import type { ArchiveFormat } from './port.ts';
import { Bzip2Unpacker } from './unpack/bzip2.ts';
import { GzipUnpacker } from './unpack/gzip.ts';
import type { Unpacker } from './unpack/unpacker.ts';
import { XzUnpacker } from './unpack/xz.ts';
import { ZstdUnpacker } from './unpack/zstd.ts';

export type CompressedFormat = Exclude<ArchiveFormat, 'zip' | 'tar' | 'deb'>;

/** Creates the decompressor of a format. */
export function createUnpacker(format: CompressedFormat, input: Input): Unpacker {
  switch (format) {
    case 'gzip':
      return new GzipUnpacker(input);
    case 'zstd':
      return new ZstdUnpacker(input);
    case 'bzip2':
      return new Bzip2Unpacker(input);
    case 'xz':
      return new XzUnpacker(input);
  }
}
