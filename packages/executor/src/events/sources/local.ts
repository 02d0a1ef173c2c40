import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import { walk } from '../code-digest.ts';
import { CodeFault } from '../code-fault.ts';
import type { CodeWriter } from '../code-writer.ts';
import type { CodeSource } from './port.ts';

/**
 * Returns the source of a directory tree or single module; copied, so that later changes do not affect running code.
 */
export function localSource(path: string): CodeSource {
  return {
    kind: 'local',
    label: path,
    fetch: async (into, signal) => {
      const { isDirectory } = await kindOf(path);
      if (isDirectory) await copyDirectory(path, into, signal);
      else await copyFile(dirname(path), basename(path), into);
    },
  };
}

async function kindOf(path: string): Promise<{ isDirectory: boolean }> {
  const found = await lstat(path).catch(() => null);
  if (found === null) throw new CodeFault('no such file or directory');
  if (!found.isDirectory() && !found.isFile()) throw new CodeFault('it is neither a file nor a directory');
  return { isDirectory: found.isDirectory() };
}

async function copyDirectory(directory: string, into: CodeWriter, signal: AbortSignal): Promise<void> {
  for await (const { path, kind } of walk(directory, '', isCopied)) {
    signal.throwIfAborted();
    if (kind === 'link') throw new CodeFault(`${path} is a link; replace it with the file itself`);
    if (kind === 'other') throw new CodeFault(`${path} is neither a file nor a directory`);
    if (kind === 'file') await copyFile(directory, path, into);
  }
}

/** Skips hidden files, which are not event code and may hold secrets or history (`.env`, `.npmrc`, `.git`). */
function isCopied(path: string): boolean {
  return !basename(path).startsWith('.');
}

async function copyFile(directory: string, path: string, into: CodeWriter): Promise<void> {
  const file = await open(join(directory, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new CodeFault(`${path} is no longer a file`);
    into.expect(path, found.size);
    await into.add(path, await file.readFile());
  } finally {
    await file.close();
  }
}
