import { lstatSync, type Stats, statSync } from 'node:fs';
import type { Problem } from '../../result.ts';
import { displayOf } from '../byte-path.ts';
import { atPath } from '../deep-path.ts';
import { problemOf } from '../faults.ts';
import { KernelFileSystems } from '../kernel-files.ts';
import type { DiscoveredObject } from '../port.ts';
import { LinkTracker } from './links.ts';
import { kindOfDirent, listDirectory } from './listing.ts';
import { ENTRY, type EntryKind, indexAfter, indexOfName, type NameList } from './names.ts';

export interface WalkOptions {
  /** Bytes of the root's path as a latin1 string; objects are named below it. */
  root: string;
  follow_links: boolean;
  /** Walks the object stores of git repositories too. */
  git_objects: boolean;
  /** Directories, by their path in findings, that are not walked. */
  prune?: ((path: string) => boolean) | undefined;
}

/** Receives the objects and problems of a walk. */
export interface WalkSink {
  objects: DiscoveredObject[];
  problems: Problem[];
}

/** One directory on the path from the root down. */
interface Level {
  /** Bytes of its path with a trailing slash, as a latin1 string; empty for the working directory. */
  prefix: string;
  /** The same for display. */
  display: string;
  names: NameList;
  /** The next name to visit, and the previous one. */
  next: number;
  last: string | null;
  device: number;
  inode: number;
  /** Name of the kernel file system that contains it; null for any other. */
  kernel: string | null;
  /** The path without links, if a link led outside the root. */
  real: string | null;
}

const SPECIAL: Readonly<Partial<Record<EntryKind, string>>> = {
  [ENTRY.fifo]: 'a named pipe',
  [ENTRY.socket]: 'a socket',
  [ENTRY.character_device]: 'a character device',
  [ENTRY.block_device]: 'a block device',
};

/** A depth-first walk through a tree, names in the order of their bytes; its position lies between two entries. */
export class Walk {
  readonly #options: WalkOptions;
  readonly #stack: Level[] = [];
  readonly #links: LinkTracker | null;
  readonly #fileSystems = new KernelFileSystems();
  /** Names down to the position of an earlier walk; until it is reached, nothing is returned. */
  #replayed: readonly string[] | null = null;

  /** @throws the system's error if the root cannot be listed */
  constructor(options: WalkOptions) {
    this.#options = options;
    this.#links = options.follow_links ? new LinkTracker(options.root) : null;
    const stats = atPath(options.root, (path) => statSync(path));
    const prefix = options.root === '.' ? '' : options.root.endsWith('/') ? options.root : `${options.root}/`;
    const names = listDirectory(options.root, stats.size);
    const kernel = this.#fileSystems.nameOf(options.root, stats.dev);
    this.#push({ prefix, display: displayOf(prefix), names, kernel, real: null }, stats);
  }

  get isDone(): boolean {
    return this.#stack.length === 0;
  }

  /**
   * False before the first entry of a directory, at a position without a name, or before the earlier position is
   * reached.
   */
  get hasPosition(): boolean {
    return this.#replayed === null && this.#stack[this.#stack.length - 1]!.next > 0;
  }

  /** Names from the root down to the entry visited last. */
  position(): string[] {
    return this.#stack.map(({ names, next }) => names.name(next - 1));
  }

  /** Visits the next entry, or leaves an exhausted directory. */
  step(sink: WalkSink): void {
    const level = this.#stack[this.#stack.length - 1]!;
    if (level.next >= level.names.length) {
      this.#stack.pop();
      return;
    }
    const index = level.next;
    level.next += 1;
    const name = level.names.name(index);
    // A directory that changes during the listing may return a name twice.
    if (name === level.last) return;
    level.last = name;
    if (this.#replayed === null) {
      this.#visit(level, name, level.names.kind(index), sink);
      return;
    }
    const known = isUpTo(this.position(), this.#replayed);
    if (!known) this.#replayed = null;
    this.#visit(level, name, level.names.kind(index), known ? { objects: [], problems: [] } : sink);
  }

  /** Moves to just after `after`, however the tree has changed since. Requires a walk that has not begun. */
  seek(after: readonly string[], sink: WalkSink): void {
    if (this.#links !== null) {
      // Which links were followed depends on the whole walk so far, so it is repeated.
      this.#replayed = after;
      return;
    }
    for (const [depth, name] of after.entries()) {
      const level = this.#stack[this.#stack.length - 1]!;
      level.next = indexAfter(level.names, name);
      if (depth === after.length - 1 || indexOfName(level.names, name) === -1) return;
      const isDirectory = this.#kindOf(level, name, level.names.kind(level.next - 1)) === ENTRY.directory;
      if (!isDirectory || !this.#enter(level, name, null, sink)) return;
    }
  }

  #visit(level: Level, name: string, listed: EntryKind, sink: WalkSink): void {
    if (level.real !== null && this.#links!.isSeen(`${level.real}/${name}`)) return;
    const path = level.display + displayOf(name);
    const locator = level.prefix + name;
    const kind = this.#kindOf(level, name, listed);
    switch (kind) {
      case null:
      case ENTRY.unknown:
        sink.problems.push(problemOf({ code: 'ENOENT' }, path));
        return;
      case ENTRY.file:
        sink.objects.push({ path, locator, size_hint: -1 });
        return;
      case ENTRY.directory:
        this.#enter(level, name, level.real === null ? null : `${level.real}/${name}`, sink);
        return;
      case ENTRY.link:
        this.#visitLink(level, name, sink);
        return;
      case ENTRY.fifo:
      case ENTRY.socket:
      case ENTRY.character_device:
      case ENTRY.block_device:
        sink.problems.push(specialFile(path, kind));
    }
  }

  /** Queries the type if the listing did not include it. Returns null if the entry is gone. */
  #kindOf(level: Level, name: string, listed: EntryKind): EntryKind | null {
    if (listed !== ENTRY.unknown) return listed;
    try {
      return kindOfDirent(atPath(level.prefix + name, (path) => lstatSync(path)));
    } catch {
      return null;
    }
  }

  #visitLink(level: Level, name: string, sink: WalkSink): void {
    const path = level.display + displayOf(name);
    const notice = (message: string): void => {
      sink.problems.push({ code: 'link_not_followed', path, message, extent: 'notice' });
    };
    if (this.#links === null) {
      notice('a symbolic link; not followed without --follow-links');
      return;
    }
    try {
      if (level.kernel !== null && this.#leadsToProcessResource(level, name)) {
        notice(`a link of the ${level.kernel} file system to a resource of a process; not followed`);
        return;
      }
      const followed = this.#links.follow(level.prefix + name);
      if (followed === null) return;
      const kind = kindOfDirent(followed.stats);
      if (kind === ENTRY.directory) this.#enter(level, name, followed.real, sink);
      else if (kind === ENTRY.file) sink.objects.push({ path, locator: level.prefix + name, size_hint: -1 });
      else sink.problems.push(specialFile(path, kind));
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ENOTDIR') notice('a broken symbolic link');
      else if (code === 'ELOOP') notice('a symbolic link that loops');
      else sink.problems.push(problemOf(error, path));
    }
  }

  /** Descends into a directory; returns false if it is excluded or cannot be read. */
  #enter(level: Level, name: string, real: string | null, sink: WalkSink): boolean {
    const path = level.display + displayOf(name);
    if (this.#options.prune?.(path) === true) return false;
    if (name === 'objects' && !this.#options.git_objects && isGitDirectory(level.names)) return false;
    const locator = level.prefix + name;
    try {
      const stats = atPath(locator, (system) => statSync(system));
      if (this.#isMountedBelowItself(locator, stats)) {
        const message = 'the directory is mounted below itself; its content is scanned higher up';
        sink.problems.push({ code: 'link_not_followed', path, message, extent: 'notice' });
        return false;
      }
      const kernel = stats.dev === level.device ? level.kernel : this.#fileSystems.nameOf(locator, stats.dev);
      if (kernel !== null && stats.dev !== level.device) {
        sink.problems.push(mountedKernelFiles(path, kernel));
        return false;
      }
      const names = listDirectory(locator, stats.size);
      if (isDataDirectory(names)) return false;
      this.#push({ prefix: `${locator}/`, display: `${path}/`, names, kernel, real }, stats);
      return true;
    } catch (error) {
      sink.problems.push(problemOf(error, path));
      return false;
    }
  }

  #push(directory: Pick<Level, 'prefix' | 'display' | 'names' | 'kernel' | 'real'>, stats: Stats): void {
    this.#stack.push({ ...directory, next: 0, last: null, device: stats.dev, inode: stats.ino });
  }

  /** Links such as `/proc/self/root` lead to any resource of a process: the whole disk, pipes, sockets. */
  #leadsToProcessResource(level: Level, name: string): boolean {
    return atPath(level.prefix + name, (path) => statSync(path)).dev !== level.device;
  }

  #isMountedBelowItself(locator: string, { dev, ino }: Stats): boolean {
    const alike = this.#stack.find(({ device, inode }) => device === dev && inode === ino);
    // Numbers beyond 2^53 are rounded; only exact ones are proof.
    return alike !== undefined && exactIdentityOf(alike.prefix) === exactIdentityOf(locator);
  }
}

function exactIdentityOf(locator: string): string {
  const { dev, ino } = atPath(locator === '' ? '.' : locator, (path) => statSync(path, { bigint: true }));
  return `${dev}:${ino}`;
}

/** Returns true if the names beside `objects` are those of a git directory: `.git` or bare, of a submodule or not. */
function isGitDirectory(names: NameList): boolean {
  return indexOfName(names, 'HEAD') !== -1 && indexOfName(names, 'refs') !== -1;
}

/**
 * Returns true for a data directory of a Heddle server or executor: its files belong to Heddle and change during the
 * scan.
 */
function isDataDirectory(names: NameList): boolean {
  const has = (name: string): boolean => indexOfName(names, name) !== -1;
  return (has('secret') && (has('cluster') || has('location'))) || ['audit', 'journal', 'requests'].every(has);
}

function mountedKernelFiles(path: string, fileSystem: string): Problem {
  const message = `a mounted ${fileSystem} file system, whose files the kernel generates; it is scanned only as a named source`;
  return { code: 'special_file', path, message, extent: 'notice' };
}

function specialFile(path: string, kind: EntryKind): Problem {
  const message = `${SPECIAL[kind] ?? 'a file of unknown type'}; not opened`;
  return { code: 'special_file', path, message, extent: 'notice' };
}

/**
 * Returns true for entries that a walk positioned after `after` has visited: that entry, earlier ones, and their
 * directories.
 */
function isUpTo(position: readonly string[], after: readonly string[]): boolean {
  for (let depth = 0; depth < position.length && depth < after.length; depth += 1) {
    if (position[depth] !== after[depth]) return position[depth]! < after[depth]!;
  }
  return true;
}
