import { lstatSync, mkdirSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Keeps what Node compiles for the next start, which takes half as long then: in a directory below the system's temporary
 * one that nobody else can write to, for what is read from there is run. Threads and child processes use it, too. Does
 * nothing where Node was told of another one, or of none, or where the directory cannot be used.
 */
export function keepCompiledCode(env: NodeJS.ProcessEnv, root = tmpdir()): void {
  if (env['NODE_COMPILE_CACHE'] !== undefined || env['NODE_DISABLE_COMPILE_CACHE'] !== undefined) return;
  const directory = ownDirectory(root);
  if (directory === null) return;
  enableCompileCache(directory);
  env['NODE_COMPILE_CACHE'] = directory;
}

/** Null where it belongs to somebody else, others may write to it, or it cannot be made. */
export function ownDirectory(root: string): string | null {
  const user = process.getuid?.();
  const path = join(root, user === undefined ? 'heddle-code' : `heddle-code-${user}`);
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const stats = lstatSync(path);
    const isOwn = user === undefined || (stats.uid === user && (stats.mode & 0o022) === 0);
    return stats.isDirectory() && isOwn ? path : null;
  } catch {
    return null;
  }
}
