import { gzipSync } from 'node:zlib';

/** One entry of an archive, possibly invalid. */
export interface TarEntry {
  /** A buffer if the name is not text. */
  name: string | Buffer;
  content?: string | Buffer;
  /** Default `0`. */
  type?: string;
  /** Size in the header, if it differs from the content's length. */
  size?: number;
  link?: string;
  prefix?: string;
  breakChecksum?: boolean;
}

const BLOCK = 512;

/** Builds a tar archive of exactly these entries; `end` false omits the final zero blocks. */
export function tarArchive(entries: readonly TarEntry[], end = true): Buffer {
  const parts = entries.flatMap((entry) => {
    const content = Buffer.from(entry.content ?? '');
    return [headerOf(entry, content.length), content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)];
  });
  return Buffer.concat([...parts, Buffer.alloc(end ? 2 * BLOCK : 0)]);
}

/** Builds a package archive: the same, gzipped. */
export function packageArchive(entries: readonly TarEntry[], end = true): Buffer {
  return gzipSync(tarArchive(entries, end));
}

/** Builds records of a pax header. */
export function pax(records: Readonly<Record<string, string>>): string {
  return Object.entries(records)
    .map(([key, value]) => {
      const body = ` ${key}=${value}\n`;
      let length = Buffer.byteLength(body) + 1;
      while (`${length}`.length + Buffer.byteLength(body) !== length)
        length = `${length}`.length + Buffer.byteLength(body);
      return `${length}${body}`;
    })
    .join('');
}

function headerOf({ name, type = '0', size, link = '', prefix = '', breakChecksum }: TarEntry, length: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  Buffer.from(name).copy(block, 0, 0, 100);
  block.write('0000644\0', 100);
  block.write(`${(size ?? length).toString(8).padStart(11, '0')}\0`, 124);
  block.write('00000000000\0', 136);
  block.write('        ', 148);
  block.write(type, 156, 'latin1');
  block.write(link, 157);
  block.write('ustar\u000000', 257);
  block.write(prefix, 345);
  const sum = block.reduce((total, byte) => total + byte, 0) + (breakChecksum === true ? 1 : 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}
