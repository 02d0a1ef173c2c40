import { constants, type Stats } from 'node:fs';
import { chmod, lstat, mkdtemp, open, readdir, rename, rmdir, unlink, type FileHandle } from 'node:fs/promises';

/** Entries and levels of a directory that are walked; with more it is too large. */
const ENTRIES_MAX = 100_000;
const DEPTH_MAX = 100;
/** Entries that are inspected at the same time. */
const CONCURRENCY = 32;
const OWNER_ALL = 0o700;

/** A directory has more entries, or more levels, than are walked. */
export class TreeTooLarge extends Error {}

export interface TreeEntry {
  /** Below the directory. Bytes that are not UTF-8 are replaced, so that it may name another entry, or none. */
  readonly path: string;
  readonly isUtf8: boolean;
  readonly stats: Stats;
  /** Names it by its directory, which is open; valid until the next entry is asked for. */
  readonly place: Buffer;
}

export interface WalkOptions {
  /** Grants this process access to directories that lack it; only once no process of a command can swap them for links. */
  readonly opensAll: boolean;
}

/**
 * Yields everything below a directory except directories, those of each directory by name. Directories are opened one in
 * another, so that no link is followed whatever happens to the tree meanwhile, and no path is too long. One that cannot be
 * opened, is gone or is a link has nothing below it.
 *
 * @throws TreeTooLarge
 */
export async function* walk(root: string, options: WalkOptions): AsyncGenerator<TreeEntry> {
  const directory = await openDirectory(Buffer.from(root), options).catch(() => null);
  if (directory !== null) yield* new Walk(options).below(directory, ROOT, 0);
}

/** What the names in a directory continue. */
type Above = Pick<TreeEntry, 'path' | 'isUtf8'>;

const ROOT: Above = { path: '', isUtf8: true };

class Walk {
  readonly #options: WalkOptions;
  #entries = 0;

  constructor(options: WalkOptions) {
    this.#options = options;
  }

  async *below(directory: FileHandle, above: Above, depth: number): AsyncGenerator<TreeEntry> {
    try {
      const names = await namesIn(directory);
      this.#entries += names.length;
      if (this.#entries > ENTRIES_MAX) throw new TreeTooLarge(`it has more than ${ENTRIES_MAX} files`);
      const inner: TreeEntry[] = [];
      for (let at = 0; at < names.length; at += CONCURRENCY) {
        const set = names.slice(at, at + CONCURRENCY).map((name) => entryOf(directory, name, above));
        for (const entry of await Promise.all(set)) {
          if (entry?.stats.isDirectory() === true) inner.push(entry);
          else if (entry !== null) yield entry;
        }
      }
      if (inner.length > 0 && depth === DEPTH_MAX) {
        throw new TreeTooLarge(`its directories are nested more than ${DEPTH_MAX} levels deep`);
      }
      for (const entry of inner) {
        const opened = await openDirectory(entry.place, this.#options).catch(() => null);
        if (opened !== null) yield* this.below(opened, { ...entry, path: `${entry.path}/` }, depth + 1);
      }
    } finally {
      await directory.close();
    }
  }
}

async function entryOf(directory: FileHandle, name: Buffer, above: Above): Promise<TreeEntry | null> {
  const place = placeOf(directory, name);
  const stats = await lstat(place).catch(() => null);
  if (stats === null) return null;
  const text = name.toString();
  const isUtf8 = above.isUtf8 && name.equals(Buffer.from(text));
  return { path: above.path + text, isUtf8, stats, place };
}

/** Removes a directory with everything in it, or what has taken its place; no link is followed. */
export async function removeTree(path: string | Buffer): Promise<void> {
  const place = Buffer.from(path);
  if (await isUnlinked(place)) return;
  const root = await openDirectory(place, { opensAll: true });
  try {
    // What was nested too deep is in the root after each turn.
    for (let moved = true; moved;) moved = await removeIn(root, root, 0);
  } finally {
    await root.close();
  }
  await rmdir(place);
}

/** @returns whether directories were moved to the root, since too many would be open */
async function removeIn(root: FileHandle, directory: FileHandle, depth: number): Promise<boolean> {
  const places = (await namesIn(directory)).map((name) => placeOf(directory, name));
  const folders: Buffer[] = [];
  for (let at = 0; at < places.length; at += CONCURRENCY) {
    const set = places.slice(at, at + CONCURRENCY);
    const removed = await Promise.all(set.map(isUnlinked));
    folders.push(...set.filter((_, index) => !removed[index]));
  }
  let moved = false;
  for (const place of folders) {
    if (depth === DEPTH_MAX) {
      // It replaces an empty directory with a name that nothing else has.
      await rename(place, await mkdtemp(placeOf(root, Buffer.from('removed-')).toString()));
      moved = true;
      continue;
    }
    const inner = await openDirectory(place, { opensAll: true });
    try {
      moved = (await removeIn(root, inner, depth + 1)) || moved;
    } finally {
      await inner.close();
    }
    await rmdir(place);
  }
  return moved;
}

/** Removes an entry that is not a directory; false if it is one. */
async function isUnlinked(place: Buffer): Promise<boolean> {
  try {
    await unlink(place);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EISDIR' || code === 'EPERM') return false;
    if (code === 'ENOENT') return true;
    throw error;
  }
}

async function openDirectory(place: Buffer, { opensAll }: WalkOptions): Promise<FileHandle> {
  // Root needs no access.
  if (opensAll && process.getuid?.() !== 0) {
    const { mode } = await lstat(place);
    if ((mode & OWNER_ALL) !== OWNER_ALL) await chmod(place, OWNER_ALL);
  }
  return open(place, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}

/** Names are bytes. */
async function namesIn({ fd }: FileHandle): Promise<Buffer[]> {
  const names = await readdir(`/proc/self/fd/${fd}`, { encoding: 'buffer' });
  return names.toSorted((one, other) => one.compare(other));
}

function placeOf({ fd }: FileHandle, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name]);
}
