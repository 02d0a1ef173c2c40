import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';

import { HeddleError } from '@heddle/base/errors';
import type { ArtifactContent, ContentId } from '@heddle/core/engine/port';

/**
 * Writes a content to a file, and returns its hash and its size.
 * @throws HeddleError BODY_TOO_LARGE
 */
export async function writeContent(file: FileHandle, content: ArtifactContent, bytesMax: number): Promise<ContentId> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of content) {
    size += chunk.length;
    if (size > bytesMax) throw tooLarge(bytesMax);
    hash.update(chunk);
    await file.writeFile(chunk);
  }
  return { digest: hash.digest(), size };
}

function tooLarge(bytesMax: number): HeddleError {
  return new HeddleError('BODY_TOO_LARGE', `An artifact may have ${bytesMax} bytes (HEDDLE_ARTIFACT_MB)`);
}
