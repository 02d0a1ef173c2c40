import { open } from 'node:fs/promises';

import { HeddleError } from '@heddle/base/errors';
import { parseStrictJson } from '@heddle/base/json/parse';
import { KeyFileError } from './key-file-error.ts';

/** Limit that no key file approaches; protects memory if a wrong path is given. */
const FILE_BYTES_MAX = 16 * 1_048_576;
/** Mode bits that must not be set, by who may read the file. */
const FORBIDDEN = { owner: 0o077, group: 0o007 } as const;

/**
 * Reads a file that holds secrets.
 *
 * @param readers `group` if the file's group may read it, as is common for TLS keys
 * @throws KeyFileError if it is unreadable, or readable by others
 */
export async function readSecretFile(path: string, readers: keyof typeof FORBIDDEN = 'owner'): Promise<Buffer> {
  let file;
  try {
    file = await open(path, 'r');
  } catch (error) {
    throw new KeyFileError(`${path}: cannot be read: ${(error as Error).message}`, error);
  }
  try {
    // Checked on the open file, because the path could change in the meantime.
    const { mode, size } = await file.stat();
    if ((mode & FORBIDDEN[readers]) !== 0 && process.platform !== 'win32') {
      const given = (mode & 0o777).toString(8).padStart(4, '0');
      throw new KeyFileError(
        `${path}: contains secrets, but its mode ${given} allows others to read it; run: chmod 600 ${path}`,
      );
    }
    if (size > FILE_BYTES_MAX) throw new KeyFileError(`${path}: is larger than ${FILE_BYTES_MAX} bytes`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

/** Parses strict JSON. @throws KeyFileError naming the file and what is wrong */
export function parseKeyJson(bytes: Buffer, path: string): unknown {
  try {
    return parseStrictJson(bytes, '');
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    throw new KeyFileError(`${path}: ${error.details.join('; ')}`, error);
  }
}
