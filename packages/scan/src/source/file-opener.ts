import { closeSync, constants, fstatSync, openSync, type Stats } from 'node:fs';
import type { Problem } from '../result.ts';
import { atPath } from './deep-path.ts';
import { problemOf } from './faults.ts';
import { FileReader } from './file-reader.ts';
import { KERNEL_FILE_BYTES_MAX, KernelFileSystems } from './kernel-files.ts';
import { ObjectFault, type ObjectOpener, type ObjectReader } from './port.ts';

/** `open` never blocks, whatever replaced the file, and no terminal becomes this process's controlling terminal. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

export interface FileOpenerOptions {
  /** Opens links too: they were found by following them. */
  follow_links: boolean;
  /** True for user-named paths: links, pipes and block devices are opened. */
  isNamed: (locator: string) => boolean;
}

/** Opens local files by the bytes of their paths. */
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

  /** The file may have changed since it was listed, so the descriptor determines its type. */
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

  /** Files that report no size, and large kernel files (`/proc/kcore` reports 128 TiB), may be endless. */
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

/** Returns the problem of a directory, device or pipe in the place of a file. */
export function notAFile(path: string, stats: Stats): Problem {
  const what = stats.isDirectory()
    ? 'a directory, where a file was expected'
    : stats.isCharacterDevice()
      ? 'a character device, which has no end'
      : 'a special file; not opened';
  return { code: 'special_file', path, message: what, extent: 'skipped' };
}
