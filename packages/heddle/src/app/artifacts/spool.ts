import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

import { isUuid } from '@heddle/base/ids';
import type { ArtifactContent, ContentId } from '@heddle/core/engine/port';
import { writeContent } from './content.ts';

/** A content in a file without a name, which is gone when it is closed or its process has ended. */
export interface SpooledContent extends ContentId {
  /** Reads it from the start; may be called again. */
  read(): Readable;
  close(): Promise<void>;
}

/**
 * Keeps a content on disk until its hash and its size are known.
 * @throws HeddleError BODY_TOO_LARGE
 */
export async function spoolContent(
  { directory, name }: { directory: string; name: string },
  content: ArtifactContent,
  bytesMax: number,
): Promise<SpooledContent> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, name);
  const file = await open(path, 'wx+', 0o600);
  try {
    await rm(path);
    const written = await writeContent(file, content, bytesMax);
    return {
      ...written,
      read: () => file.createReadStream({ start: 0, autoClose: false }),
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Removes contents that a process left in a directory, named by their ids, before a time. */
export async function removeOldFiles(directory: string, before: number): Promise<void> {
  for (const name of await readdir(directory).catch(() => [])) {
    const path = join(directory, name);
    const found = isUuid(name) ? await stat(path).catch(() => null) : null;
    if (found !== null && found.mtimeMs < before) await rm(path, { force: true });
  }
}
