import { type Dirent, opendirSync, readdirSync, type Stats } from 'node:fs';
import { atPath } from '../deep-path.ts';
import { ENTRY, type EntryKind, NameCollector, type NameList } from './names.ts';

/**
 * The size of a directory above which its names are read in pieces: many thousands of names on every file system that
 * reports sizes. Smaller ones are read in one call, which takes half the time.
 */
const ONE_CALL_BYTES_MAX = 64 * 1024;
const PIECE_ENTRIES = 512;

/**
 * Lists a directory.
 *
 * @param locator bytes of its path as a latin1 string
 * @param directoryBytes its size as reported by `stat`
 * @throws the system's error if it cannot be read
 */
export function listDirectory(locator: string, directoryBytes: number): NameList {
  return atPath(locator, (path) => {
    const names = new NameCollector();
    try {
      const read = directoryBytes > ONE_CALL_BYTES_MAX ? readInPieces : readAtOnce;
      read(path, (entry) => names.add(entry.name, kindOfDirent(entry)));
      return names.finish();
    } catch {
      // If the file system reports no types, Node looks them up by a path that is wrong for names that are not UTF-8.
      return listWithoutKinds(path);
    }
  });
}

function readAtOnce(path: string | Buffer, take: (entry: Dirent) => void): void {
  for (const entry of readdirSync(path, { encoding: 'latin1', withFileTypes: true })) take(entry);
}

function readInPieces(path: string | Buffer, take: (entry: Dirent) => void): void {
  const directory = opendirSync(path, { encoding: 'latin1', bufferSize: PIECE_ENTRIES });
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) take(entry);
  } finally {
    directory.closeSync();
  }
}

function listWithoutKinds(path: string | Buffer): NameList {
  const names = new NameCollector();
  for (const name of readdirSync(path, { encoding: 'latin1' })) names.add(name, ENTRY.unknown);
  return names.finish();
}

/** Returns the type from a directory entry or a `stat` result. */
export function kindOfDirent(entry: Dirent | Stats): EntryKind {
  if (entry.isFile()) return ENTRY.file;
  if (entry.isDirectory()) return ENTRY.directory;
  if (entry.isSymbolicLink()) return ENTRY.link;
  if (entry.isFIFO()) return ENTRY.fifo;
  if (entry.isSocket()) return ENTRY.socket;
  if (entry.isCharacterDevice()) return ENTRY.character_device;
  if (entry.isBlockDevice()) return ENTRY.block_device;
  return ENTRY.unknown;
}
