import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import { walk } from '../code-digest.ts';
import { CodeFault } from '../code-fault.ts';
import type { CodeWriter } from '../code-writer.ts';
import type { CodeSource } from './port.ts';

/** A directory with everything below, or one module; copied, so that later changes do not reach what runs. */
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
  if (found === null) throw new CodeFault('there is no such file or directory');
  if (!found.isDirectory() && !found.isFile()) throw new CodeFault('it is neither a file nor a directory');
  return { isDirectory: found.isDirectory() };
}

async function copyDirectory(directory: string, into: CodeWriter, signal: AbortSignal): Promise<void> {
  for await (const { path, kind } of walk(directory, '', isCopied)) {
    signal.throwIfAborted();
    if (kind === 'link') throw new CodeFault(`${path} is a link; put the file itself in its place`);
    if (kind === 'other') throw new CodeFault(`${path} is neither a file nor a directory`);
    if (kind === 'file') await copyFile(directory, path, into);
  }
}

/** Hidden files are none of an event's code, and where secrets and histories lie (`.env`, `.npmrc`, `.git`). */
function isCopied(path: string): boolean {
  return !basename(path).startsWith('.');
}

async function copyFile(directory: string, path: string, into: CodeWriter): Promise<void> {
  const file = await open(join(directory, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new CodeFault(`${path} is no file any more`);
    into.expect(path, found.size);
    await into.add(path, await file.readFile());
  } finally {
    await file.close();
  }
}
