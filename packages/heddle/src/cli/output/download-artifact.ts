import { createHash } from 'node:crypto';
import { mkdir, open, realpath, unlink, type FileHandle } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';

import { CommandFailure, EXIT } from '@heddle/base/terminal/failure';
import { messageOf } from '@heddle/base/thrown';
import type { HeddleClient } from '@heddle/client';
import { artifactNameFault } from '@heddle/base/vocabulary/artifact';
import type { Artifact } from './wire.ts';

/**
 * Downloads an artifact to its name below a directory, which it cannot leave, also not by symbolic links. Replaces nothing.
 * @returns the path
 */
export async function downloadInto(directory: string, artifact: Artifact, client: HeddleClient): Promise<string> {
  const fault = artifactNameFault(artifact.name);
  if (fault !== null) throw new CommandFailure(`the name of the artifact ${JSON.stringify(artifact.name)} ${fault}`);
  await mkdir(directory, { recursive: true });
  const root = await realpath(directory);
  const path = join(root, artifact.name);
  await makeInside(root, dirname(artifact.name));
  await writeTo(path, artifact, client);
  return path;
}

/** Downloads an artifact to a path, which must not exist. */
export async function writeTo(path: string, artifact: Artifact, client: HeddleClient): Promise<void> {
  const file = await open(path, 'wx').catch((error: unknown) => {
    const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
    throw new CommandFailure(exists ? `${path} already exists; nothing was overwritten` : messageOf(error), {
      exitCode: EXIT.usage,
      cause: error,
    });
  });
  try {
    await receive(file, artifact, client);
  } catch (error) {
    await unlink(path);
    throw error;
  } finally {
    await file.close();
  }
}

async function receive(file: FileHandle, { id, name, sha256 }: Artifact, client: HeddleClient): Promise<void> {
  const hash = createHash('sha256');
  for await (const chunk of await client.artifacts.download(id)) {
    hash.update(chunk);
    await file.writeFile(chunk);
  }
  if (hash.digest('hex') !== sha256) throw new CommandFailure(`${name} arrived incomplete or altered; try again`);
}

async function makeInside(root: string, folder: string): Promise<void> {
  let path = root;
  for (const part of folder === '.' ? [] : folder.split('/')) {
    path = join(path, part);
    await mkdir(path).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    });
    if (!`${await realpath(path)}${sep}`.startsWith(`${root}${sep}`)) {
      throw new CommandFailure(`${path} leads out of ${root}; nothing was written`);
    }
  }
}
