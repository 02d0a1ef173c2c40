import { closeSync, constants, fstatSync, openSync, type Stats } from 'node:fs';
import type { Problem } from '../result.ts';
import { atPath } from './deep-path.ts';
import { problemOf } from './faults.ts';
import { FileReader } from './file-reader.ts';
import { KERNEL_FILE_BYTES_MAX, KernelFileSystems } from './kernel-files.ts';
import { ObjectFault, type ObjectOpener, type ObjectReader } from './port.ts';

/** Nothing blocks in `open`, whatever took the file's place, and no terminal becomes this process's own. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

export interface FileOpenerOptions {
  /** Links are opened, too: they were found by following them. */
  follow_links: boolean;
  /** True for what the user named: links, pipes and block devices among them are opened. */
  isNamed: (locator: string) => boolean;
}

/** Opens files of this machine by the bytes of their paths. */
export class FileOpener implements ObjectOpener {
  readonly #options: FileOpenerOptions;
  readonly #fileSystems = new KernelFileSystems();

  constructor(options: FileOpenerOptions) {
    this.#options = options;
  }

  open(object: { path: string; locator: string }): ObjectReader | Promise<ObjectReader> {
    const { path, locator } = object;
    const isNamed = this.#options.isNamed(locator);
    const flags = isNamed || this.#options.follow_links ? FLAGS : FLAGS | constants.O_NOFOLLOW;
    let descriptor: number;
    try {
      descriptor = atPath(locator, (system) => openSync(system, flags));
    } catch (error) {
      throw new ObjectFault(problemOf(error, path), error);
    }
    try {
      return this.#readerOf(object, descriptor, isNamed);
    } catch (error) {
      throw givenUp(descriptor, path, error);
    }
  }

  close(): void {
    // Readers close their own descriptors.
  }

  /** What stands there may have changed since it was listed, so the descriptor says what it is. */
  #readerOf(
    { path, locator }: { path: string; locator: string },
    descriptor: number,
    isNamed: boolean,
  ): ObjectReader | Promise<ObjectReader> {
    const stats = fstatSync(descriptor);
    if (stats.isFile()) return new FileReader(path, descriptor, stats, this.#bytesMaxOf(locator, stats));
    if (isNamed && stats.isBlockDevice()) return new FileReader(path, descriptor, stats);
    if (isNamed && (stats.isFIFO() || stats.isSocket())) return streamReaderOf(path, descriptor);
    throw new ObjectFault(notAFile(path, stats));
  }

  /** Files that state no size, and large ones of the kernel (`/proc/kcore` states 128 TiB), may have no end. */
  #bytesMaxOf(locator: string, { size, dev }: Stats): number {
    const isEndless = size === 0 || (size > KERNEL_FILE_BYTES_MAX && this.#fileSystems.nameOf(locator, dev) !== null);
    return isEndless ? KERNEL_FILE_BYTES_MAX : Infinity;
  }
}

async function streamReaderOf(path: string, descriptor: number): Promise<ObjectReader> {
  try {
    const { openStream } = await import('./stream-reader.ts');
    return openStream(path, descriptor);
  } catch (error) {
    throw givenUp(descriptor, path, error);
  }
}

function givenUp(descriptor: number, path: string, error: unknown): ObjectFault {
  closeSync(descriptor);
  return error instanceof ObjectFault ? error : new ObjectFault(problemOf(error, path), error);
}

/** The problem that a directory, device or pipe is where a file was expected. */
export function notAFile(path: string, stats: Stats): Problem {
  const what = stats.isDirectory()
    ? 'a directory, where a file was expected'
    : stats.isCharacterDevice()
      ? 'a character device, which has no end'
      : 'a special file, which is not opened';
  return { code: 'special_file', path, message: what, extent: 'skipped' };
}
