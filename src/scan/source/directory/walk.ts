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
  /** Bytes of the root's path as a latin1 string; what is found is named below it. */
  root: string;
  follow_links: boolean;
  /** Walk the object stores of git repositories, too. */
  git_objects: boolean;
  /** Directories, by their path in findings, that are not walked. */
  prune?: ((path: string) => boolean) | undefined;
}

/** Takes what a walk comes upon. */
export interface WalkSink {
  objects: DiscoveredObject[];
  problems: Problem[];
}

/** One directory on the way from the root down. */
interface Level {
  /** Bytes of its path with a slash at the end, as a latin1 string; empty for the directory where the process stands. */
  prefix: string;
  /** The same for people. */
  display: string;
  names: NameList;
  /** The next name to look at, and the one before it. */
  next: number;
  last: string | null;
  device: number;
  inode: number;
  /** Name of the kernel's file system that it lies on; null on any other one. */
  kernel: string | null;
  /** Where a link led outside the root: the path without links. */
  real: string | null;
}

const SPECIAL: Readonly<Partial<Record<EntryKind, string>>> = {
  [ENTRY.fifo]: 'a named pipe',
  [ENTRY.socket]: 'a socket',
  [ENTRY.character_device]: 'a character device',
  [ENTRY.block_device]: 'a block device',
};

/** A walk through a tree, depth first, names in the order of their bytes; stands between two entries. */
export class Walk {
  readonly #options: WalkOptions;
  readonly #stack: Level[] = [];
  readonly #links: LinkTracker | null;
  readonly #fileSystems = new KernelFileSystems();
  /** Names down to where a walk that starts over was before; until there nothing is handed out. */
  #replayed: readonly string[] | null = null;

  /** @throws the system's error where the root cannot be listed */
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

  /** False while it stands before the first entry of a directory, a place without a name, or has not caught up. */
  get hasPosition(): boolean {
    return this.#replayed === null && this.#stack[this.#stack.length - 1]!.next > 0;
  }

  /** The names from the root down to the entry that was looked at last. */
  position(): string[] {
    return this.#stack.map(({ names, next }) => names.name(next - 1));
  }

  /** Looks at the next entry, or leaves a directory that has no more. */
  step(sink: WalkSink): void {
    const level = this.#stack[this.#stack.length - 1]!;
    if (level.next >= level.names.length) {
      this.#stack.pop();
      return;
    }
    const index = level.next;
    level.next += 1;
    const name = level.names.name(index);
    // A directory that changes while it is listed may give a name twice.
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

  /** Goes to just after `after`, wherever the tree has changed meanwhile. For a walk that has not begun. */
  seek(after: readonly string[], sink: WalkSink): void {
    if (this.#links !== null) {
      // Which links were followed depends on all that came before, so it is gone through again.
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

  /** Where the file system does not say it in the listing, asks. Null where it is gone. */
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
      notice('a symbolic link, which is not followed unless that is asked for');
      return;
    }
    try {
      if (level.kernel !== null && this.#leadsElsewhere(level, name)) {
        notice(`a link of the file system ${level.kernel} to what a process uses, which is not followed`);
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
      if (code === 'ENOENT' || code === 'ENOTDIR') notice('a symbolic link that leads nowhere');
      else if (code === 'ELOOP') notice('a symbolic link that leads back to itself');
      else sink.problems.push(problemOf(error, path));
    }
  }

  /** Goes down into a directory; false where it is not to be walked, or cannot be. */
  #enter(level: Level, name: string, real: string | null, sink: WalkSink): boolean {
    const path = level.display + displayOf(name);
    if (this.#options.prune?.(path) === true) return false;
    if (name === 'objects' && !this.#options.git_objects && isGitDirectory(level.names)) return false;
    const locator = level.prefix + name;
    try {
      const stats = atPath(locator, (system) => statSync(system));
      if (this.#isBelowItself(locator, stats)) {
        const message = 'the directory is mounted below itself: its content is listed above';
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

  /** Links such as `/proc/self/root` lead to whatever a process uses: all of the disk, pipes, sockets. */
  #leadsElsewhere(level: Level, name: string): boolean {
    return atPath(level.prefix + name, (path) => statSync(path)).dev !== level.device;
  }

  #isBelowItself(locator: string, { dev, ino }: Stats): boolean {
    const alike = this.#stack.find(({ device, inode }) => device === dev && inode === ino);
    // Numbers beyond 2^53 come rounded; only the exact ones prove it.
    return alike !== undefined && exactIdentityOf(alike.prefix) === exactIdentityOf(locator);
  }
}

function exactIdentityOf(locator: string): string {
  const { dev, ino } = atPath(locator === '' ? '.' : locator, (path) => statSync(path, { bigint: true }));
  return `${dev}:${ino}`;
}

/** True where the names beside `objects` are those of a git directory, `.git` or bare, of a submodule or not. */
function isGitDirectory(names: NameList): boolean {
  return indexOfName(names, 'HEAD') !== -1 && indexOfName(names, 'refs') !== -1;
}

/** True for a data directory of Heddle's, of a server or an executor: its files are Heddle's own and change while they are read. */
function isDataDirectory(names: NameList): boolean {
  const has = (name: string): boolean => indexOfName(names, name) !== -1;
  return (has('secret') && (has('cluster') || has('location'))) || ['audit', 'journal', 'requests'].every(has);
}

function mountedKernelFiles(path: string, fileSystem: string): Problem {
  const message = `a directory of the file system ${fileSystem}, whose files the kernel makes up as they are read; it is scanned where it is named`;
  return { code: 'special_file', path, message, extent: 'notice' };
}

function specialFile(path: string, kind: EntryKind): Problem {
  const message = `${SPECIAL[kind] ?? 'a file of an unknown kind'}, which is not opened`;
  return { code: 'special_file', path, message, extent: 'notice' };
}

/** True for what a walk that stands after `after` has looked at: it, what comes before, and the directories above it. */
function isUpTo(position: readonly string[], after: readonly string[]): boolean {
  for (let depth = 0; depth < position.length && depth < after.length; depth += 1) {
    if (position[depth] !== after[depth]) return position[depth]! < after[depth]!;
  }
  return true;
}
