import { createHash, type Hash } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { CodeFault } from './code-fault.ts';

const DOMAIN = 'heddle-event-code-v1\n';
const READ_BYTES = 256 * 1024;

export interface CodeFile {
  /** Relative to the code's directory, with forward slashes. */
  readonly path: string;
  readonly bytes: number;
  /** SHA-256 of the content. */
  readonly hash: Buffer;
}

/**
 * Computes the digest of code: SHA-256, hexadecimal, over `heddle-event-code-v1\n` followed by each file in byte order
 * of its path: length of the path (u32, big-endian), path (UTF-8), SHA-256 of the content (32 bytes).
 */
export function codeDigest(files: readonly CodeFile[]): string {
  const sorted = files.map(({ path, hash }) => ({ path: Buffer.from(path), hash }));
  sorted.sort((one, other) => Buffer.compare(one.path, other.path));
  const whole = createHash('sha256').update(DOMAIN);
  for (const { path, hash } of sorted) {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(path.length);
    whole.update(length).update(path).update(hash);
  }
  return whole.digest('hex');
}

/**
 * Reads and hashes every file below a directory. @throws CodeFault for anything that is neither a file nor a directory
 */
export async function readCodeFiles(directory: string): Promise<CodeFile[]> {
  const files: CodeFile[] = [];
  for await (const { path, kind } of walk(directory, '')) {
    if (kind === 'other') throw new CodeFault(`${path} is neither a file nor a directory`);
    if (kind === 'file') files.push(await readCodeFile(join(directory, path), path));
  }
  return files;
}

/**
 * Returns a fingerprint that changes whenever an entry below is written, replaced, added, removed or changes its mode.
 */
export async function directoryFingerprint(directory: string): Promise<string> {
  const hash = createHash('sha256');
  await fingerprint(hash, directory, '');
  for await (const { path } of walk(directory, '')) await fingerprint(hash, directory, path);
  return hash.digest('base64');
}

async function fingerprint(hash: Hash, directory: string, path: string): Promise<void> {
  const { ino, size, mode, mtimeNs, ctimeNs } = await lstat(join(directory, path), { bigint: true });
  hash.update(`${JSON.stringify(path)} ${ino} ${size} ${mode} ${mtimeNs} ${ctimeNs}\n`);
}

async function readCodeFile(file: string, path: string): Promise<CodeFile> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const hash = createHash('sha256');
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    let bytes = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, bytes);
      if (bytesRead === 0) return { path, bytes, hash: hash.digest() };
      hash.update(buffer.subarray(0, bytesRead));
      bytes += bytesRead;
    }
  } finally {
    await handle.close();
  }
}

export interface WalkedEntry {
  readonly path: string;
  readonly kind: 'file' | 'directory' | 'link' | 'other';
}

/** Walks a directory in a fixed order; links are yielded, not followed. `enter` excludes subtrees. */
export async function* walk(
  root: string,
  below: string,
  enter: (path: string) => boolean = () => true,
): AsyncGenerator<WalkedEntry> {
  const entries = await readdir(join(root, below), { withFileTypes: true });
  entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  for (const entry of entries) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (!enter(path)) continue;
    if (entry.isDirectory()) {
      yield { path, kind: 'directory' };
      yield* walk(root, path, enter);
    } else yield { path, kind: entry.isFile() ? 'file' : entry.isSymbolicLink() ? 'link' : 'other' };
  }
}
