import { link, mkdir, open, rename, unlink } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

import { systemRandom } from '@heddle/base/random';
import { CommandFailure, EXIT } from '@heddle/base/terminal/failure';

export interface SecretFile {
  path: string;
  text: string;
}

/**
 * Writes files that only their owner may read, each atomically: a concurrent reader sees the old or the new one.
 * @param replace false to refuse if a file exists
 */
export async function writeSecretFiles(files: readonly SecretFile[], replace: boolean): Promise<void> {
  // All are on disk before the first is renamed, so that files that belong together change together.
  const written: (SecretFile & { temporary: string })[] = [];
  try {
    for (const file of files) written.push({ ...file, temporary: await writeTemporary(file) });
    for (const { path, temporary } of written) await (replace ? rename(temporary, path) : place(temporary, path));
  } finally {
    await Promise.all(written.map(({ temporary }) => unlink(temporary).catch(() => undefined)));
  }
}

async function writeTemporary({ path, text }: SecretFile): Promise<string> {
  const directory = dirname(resolve(path));
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const temporary = `${path}.${Buffer.from(systemRandom.bytes(6)).toString('hex')}.tmp`;
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  return temporary;
}

async function place(temporary: string, path: string): Promise<void> {
  try {
    await link(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new CommandFailure(`${path} already exists; nothing was overwritten`, {
      exitCode: EXIT.usage,
      cause: error,
    });
  }
}

/** Returns a client's name as part of a file name. */
export function fileNameOf(client: string): string {
  return client.replaceAll(/[^A-Za-z0-9._-]/g, '_');
}
