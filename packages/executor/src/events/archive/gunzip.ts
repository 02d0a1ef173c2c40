import { createGunzip } from 'node:zlib';

import { CodeFault } from '../code-fault.ts';
import { type CodeLimits, RATIO_FREE_BYTES } from '../code-limits.ts';

/** Allowance for archive headers and padding beyond the file contents. */
const HEADERS_BYTES_PER_FILE = 4 * 512;

/** Decompresses gzip incrementally within the limits. @throws CodeFault */
export async function* gunzip(packed: Uint8Array, limits: CodeLimits): AsyncGenerator<Buffer> {
  const stream = createGunzip();
  stream.end(packed);
  const bytesMax = limits.bytes_max + limits.files_max * HEADERS_BYTES_PER_FILE;
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw new CodeFault(`the archive unpacks to more than ${bytesMax} bytes`);
      if (bytes > RATIO_FREE_BYTES && bytes > packed.length * limits.ratio_max) {
        throw new CodeFault(`the archive unpacks to more than ${limits.ratio_max} times its size`);
      }
      yield chunk;
    }
  } catch (error) {
    if (error instanceof CodeFault) throw error;
    throw new CodeFault('the archive cannot be unpacked: it is not valid gzip', error);
  } finally {
    stream.destroy();
  }
}
