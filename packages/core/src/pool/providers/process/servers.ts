import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { isAlive, markOf, readJson, type ProcessMark } from './records.ts';

/** A server of this machine, as its runner processes find it. */
export interface LocalServer extends ProcessMark {
  /** URL of its listener, for programs of this machine. */
  readonly url: string;
}

const FILE = /^server-\d+\.json$/;

/**
 * Writes where this server listens, beside the records of its runners, and removes what killed servers have left.
 * Returns a function that removes it.
 */
export function announceServer(directory: string, url: string): () => void {
  const mark = markOf(process.pid);
  if (mark === null) return () => undefined;
  mkdirSync(directory, { recursive: true });
  for (const name of fileNames(directory)) {
    const known = readJson(join(directory, name)) as LocalServer | null;
    if (known === null || !isAlive(known)) rmSync(join(directory, name), { force: true });
  }
  const path = join(directory, `server-${mark.pid}.json`);
  const draft = `${path}.draft`;
  writeFileSync(draft, JSON.stringify({ ...mark, url } satisfies LocalServer));
  renameSync(draft, path);
  return () => rmSync(path, { force: true });
}

/** Returns the live servers that share a directory of runners. */
export function localServers(directory: string): LocalServer[] {
  return fileNames(directory).flatMap((name) => {
    const server = readJson(join(directory, name)) as LocalServer | null;
    return server !== null && isAlive(server) ? [server] : [];
  });
}

function fileNames(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => FILE.test(name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
