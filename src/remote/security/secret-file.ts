import { open } from 'node:fs/promises';

import { HeddleError } from '../../domain/errors.ts';
import { parseStrictJson } from '../../runtime/json/parse.ts';
import { KeyFileError } from './key-file-error.ts';

/** No file of keys comes near it; a path given by mistake must not fill memory. */
const FILE_BYTES_MAX = 16 * 1_048_576;
/** Who besides the owner may not read a file: everybody, or everybody outside of its group. */
const FORBIDDEN = { owner: 0o077, group: 0o007 } as const;

/**
 * The bytes of a file that holds secrets.
 *
 * @param readers `group` where those of its group may read it, too: keys of TLS are often shared so
 * @throws KeyFileError where it cannot be read, or others may read it
 */
export async function readSecretFile(path: string, readers: keyof typeof FORBIDDEN = 'owner'): Promise<Buffer> {
  let file;
  try {
    file = await open(path, 'r');
  } catch (error) {
    throw new KeyFileError(`${path}: cannot be read: ${(error as Error).message}`, error);
  }
  try {
    // Asked of the open file: a path could lead elsewhere a moment later.
    const { mode, size } = await file.stat();
    if ((mode & FORBIDDEN[readers]) !== 0 && process.platform !== 'win32') {
      const given = (mode & 0o777).toString(8).padStart(4, '0');
      throw new KeyFileError(
        `${path}: holds secrets, but its mode ${given} lets others read it; run: chmod 600 ${path}`,
      );
    }
    if (size > FILE_BYTES_MAX) throw new KeyFileError(`${path}: has more than ${FILE_BYTES_MAX} bytes`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

/** Parses strictly. @throws KeyFileError naming the file and what is wrong with it */
export function parseKeyJson(bytes: Buffer, path: string): unknown {
  try {
    return parseStrictJson(bytes, '');
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    throw new KeyFileError(`${path}: ${error.details.join('; ')}`, error);
  }
}
