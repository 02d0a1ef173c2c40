/** File operations of the example: finding, hashing, measuring. Independent of Heddle. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, extname, join, relative, sep } from 'node:path';

/** A file by its path from the root (with `/`), and its size. */
export interface FoundFile {
  path: string;
  bytes: number;
}

export interface Measure {
  files: number;
  bytes: number;
  lines: number;
}

export type Languages = Record<string, Measure>;

/** Directories of installed, built or stored files. */
const LEFT_OUT = new Set(['node_modules', '.git', 'dist', '.heddle', 'coverage']);

const LANGUAGE_OF_EXTENSION: Readonly<Record<string, string>> = {
  '.ts': 'TypeScript',
  '.tsx': 'TypeScript',
  '.js': 'JavaScript',
  '.mjs': 'JavaScript',
  '.cjs': 'JavaScript',
  '.json': 'JSON',
  '.sql': 'SQL',
  '.md': 'Markdown',
  '.css': 'CSS',
  '.html': 'HTML',
  '.yml': 'YAML',
  '.yaml': 'YAML',
  '.sh': 'Shell',
  '.py': 'Python',
  '.rs': 'Rust',
  '.go': 'Go',
  '.txt': 'Text',
};

export function languageOf(path: string): string {
  if (basename(path) === 'Dockerfile') return 'Dockerfile';
  return LANGUAGE_OF_EXTENSION[extname(path).toLowerCase()] ?? 'other';
}

/** All regular files below the root, by path; links are not followed. */
export async function findFiles(root: string): Promise<FoundFile[]> {
  const found: FoundFile[] = [];
  const directories = [root];
  for (let directory = directories.pop(); directory !== undefined; directory = directories.pop()) {
    for (const entry of await readdir(directory, { withFileTypes: true }).catch(ifGone([]))) {
      const path = join(directory, entry.name);
      if (entry.isDirectory() && !LEFT_OUT.has(entry.name)) directories.push(path);
      if (!entry.isFile()) continue;
      const info = await stat(path).catch(ifGone(null));
      if (info !== null) found.push({ path: relative(root, path).split(sep).join('/'), bytes: info.size });
    }
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Files may disappear while others work on them; other failures are reported. */
function ifGone<T>(instead: T): (error: unknown) => T {
  return (error) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return instead;
    throw error;
  };
}

/** The SHA-256 of a file, hexadecimal. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** Bytes and lines of a file; a file that contains a NUL is not text and has no lines. */
export async function measureFile(path: string): Promise<Measure> {
  const content = await readFile(path);
  let lines = 0;
  if (!content.includes(0)) {
    for (const byte of content) if (byte === 10) lines += 1;
    if (content.length > 0 && content.at(-1) !== 10) lines += 1;
  }
  return { files: 1, bytes: content.length, lines };
}

export function addMeasure(to: Languages, language: string, { files, bytes, lines }: Measure): void {
  const sum = (to[language] ??= { files: 0, bytes: 0, lines: 0 });
  sum.files += files;
  sum.bytes += bytes;
  sum.lines += lines;
}

export function totalOf(languages: Languages): Measure {
  const total: Languages = {};
  for (const measure of Object.values(languages)) addMeasure(total, 'all', measure);
  return total['all'] ?? { files: 0, bytes: 0, lines: 0 };
}

export interface Shard {
  name: string;
  /** Its top-level directories; null for everything not in other shards. */
  directories: string[] | null;
  files: number;
}

const SHARDS_MAX = 5;

/** Splits files by their top-level directory: the largest ones are separate, the rest share a shard. */
export function planShards(files: readonly FoundFile[]): Shard[] {
  const counts = new Map<string, number>();
  for (const { path } of files) counts.set(topOf(path), (counts.get(topOf(path)) ?? 0) + 1);
  const directories = [...counts].filter(([name]) => name !== '').sort(([, a], [, b]) => b - a);
  const alone = directories.slice(0, SHARDS_MAX - 1);
  const shards: Shard[] = alone.map(([name, count]) => ({ name, directories: [name], files: count }));
  const rest = files.length - shards.reduce((sum, shard) => sum + shard.files, 0);
  return [...shards, { name: 'the rest', directories: null, files: rest }];
}

/** The files of each shard, in the order of the plan; files that appeared since then are in the last shard. */
export function splitFiles(files: readonly FoundFile[], shards: readonly Shard[]): FoundFile[][] {
  const rest = shards.findIndex(({ directories }) => directories === null);
  const split: FoundFile[][] = shards.map(() => []);
  for (const file of files) {
    const own = shards.findIndex(({ directories }) => directories?.includes(topOf(file.path)) ?? false);
    split[own < 0 ? rest : own]!.push(file);
  }
  return split;
}

/** The top-level directory of a path; empty for a file in the root itself. */
function topOf(path: string): string {
  const slash = path.indexOf('/');
  return slash < 0 ? '' : path.slice(0, slash);
}
