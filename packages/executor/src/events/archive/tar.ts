import { quoted } from '@heddle/base/parse/path';
import { CodeFault } from '../code-fault.ts';
import type { CodeLimits } from '../code-limits.ts';
import { checkCodePath } from '../code-path.ts';
import { ByteQueue } from './byte-queue.ts';
import { paxRecords } from './pax.ts';
import { readTarHeader, type TarHeader } from './tar-header.ts';
import { beforeNul, utf8 } from './text.ts';

const BLOCK = 512;
/** Long names and pax headers are read whole; legitimate ones are far smaller. */
const EXTENSION_BYTES_MAX = 64 * 1024;

export interface TarFile {
  /** Path as written in the archive. */
  readonly path: string;
  readonly content: Buffer;
}

/** Attributes that extension headers set for the next entry. */
interface Announced {
  path?: string;
  bytes?: number;
}

const REFUSED_TYPES: Readonly<Record<string, string>> = {
  '1': 'a hard link',
  '2': 'a symbolic link',
  '3': 'a character device',
  '4': 'a block device',
  '6': 'a named pipe',
  S: 'a sparse file',
  M: 'a part of another archive',
};

/**
 * Reads the regular files of a tar archive (ustar, GNU long names, pax) in order. Entries other than files and
 * directories are rejected, not skipped.
 *
 * @param expect called before a file's content is read
 * @throws CodeFault
 */
export async function* readTar(
  chunks: AsyncIterable<Uint8Array>,
  limits: CodeLimits,
  expect: (path: string, bytes: number) => void,
): AsyncGenerator<TarFile> {
  const queue = new ByteQueue(chunks);
  let announced: Announced = {};
  let others = 0;
  for (;;) {
    const block = await queue.take(BLOCK);
    if (block === null) throw cutOff();
    if (block.every((byte) => byte === 0)) return queue.close();
    const header = readTarHeader(block);
    if (header.type === 'x' || header.type === 'g' || header.type === 'L') {
      others = counted(others, limits);
      const content = await contentOf(queue, header, EXTENSION_BYTES_MAX);
      announced = { ...announced, ...announcedBy(header.type, content) };
      continue;
    }
    const path = announced.path ?? header.path;
    const bytes = announced.bytes ?? header.bytes;
    announced = {};
    if (header.type === '5') {
      others = counted(others, limits);
      checkCodePath(path.replace(/\/$/, ''));
      if (bytes !== 0) throw new CodeFault(`the directory ${quoted(path)} has content`);
      continue;
    }
    refuseOtherTypes(header.type, path);
    expect(path, bytes);
    yield { path, content: await contentOf(queue, { bytes }, limits.file_bytes_max) };
  }
}

function counted(others: number, { files_max }: CodeLimits): number {
  // Directories and extension headers cost time just like files.
  if (others >= files_max * 2) throw new CodeFault(`the archive has more than ${files_max * 2} entries beside files`);
  return others + 1;
}

function refuseOtherTypes(type: string, path: string): void {
  if (type === '0' || type === '\0') return;
  const what = Object.hasOwn(REFUSED_TYPES, type) ? REFUSED_TYPES[type]! : `of the unknown type ${quoted(type)}`;
  throw new CodeFault(`${quoted(path)} is ${what}; only files and directories are allowed`);
}

/** Treats a global header like a local one, except that it must not set a path or size, which differ per entry. */
function announcedBy(type: 'x' | 'g' | 'L', content: Buffer): Announced {
  if (type === 'L') return { path: utf8(beforeNul(content)) };
  const records = paxRecords(content);
  const sparse = [...records.keys()].find((key) => key.startsWith('GNU.sparse.'));
  if (sparse !== undefined) throw new CodeFault('the archive has a sparse file');
  const path = records.get('path');
  const size = records.get('size');
  if (type === 'g') {
    if (path !== undefined || size !== undefined)
      throw new CodeFault('the archive has a global header with a path or size');
    return {};
  }
  if (size !== undefined && !/^(0|[1-9]\d{0,14})$/.test(size)) throw new CodeFault('the archive has an invalid size');
  return { ...(path === undefined ? {} : { path }), ...(size === undefined ? {} : { bytes: Number(size) }) };
}

async function contentOf(queue: ByteQueue, { bytes }: Pick<TarHeader, 'bytes'>, bytesMax: number): Promise<Buffer> {
  if (bytes > bytesMax) throw new CodeFault(`the archive has an entry of more than ${bytesMax} bytes`);
  const content = await queue.take(bytes);
  const padding = await queue.take((BLOCK - (bytes % BLOCK)) % BLOCK);
  if (content === null || padding === null) throw cutOff();
  return content;
}

function cutOff(): CodeFault {
  return new CodeFault('the archive is truncated');
}
