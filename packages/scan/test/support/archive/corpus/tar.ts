export interface TarEntry {
  name: string | Uint8Array;
  content?: string | Uint8Array;
  /** One character; `0`: a file. */
  type?: string;
  /** Declared size, if it differs from the content's. */
  size?: number;
  /** Octal digits, or any other content of the field. */
  raw_size?: Uint8Array;
  link?: string;
  magic?: string;
  prefix?: string;
  damaged?: boolean;
}

export const BLOCK = 512;

/** Builds a tar file exactly as specified; with `end` false without the final blocks of zeros. */
export function buildTar(entries: readonly TarEntry[], end = true): Buffer {
  const parts = entries.flatMap((entry) => {
    const content = Buffer.from(entry.content ?? '');
    return [tarHeader(entry, content.length), content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)];
  });
  return Buffer.concat([...parts, Buffer.alloc(end ? 2 * BLOCK : 0)]);
}

function tarHeader(entry: TarEntry, length: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  Buffer.from(entry.name).copy(header, 0, 0, 100);
  header.write('0000644\0', 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  if (entry.raw_size === undefined) header.write(`${(entry.size ?? length).toString(8).padStart(11, '0')}\0`, 124);
  else Buffer.from(entry.raw_size).copy(header, 124, 0, 12);
  header.write('00000000000\0', 136);
  header.write('        ', 148);
  header.write(entry.type ?? '0', 156, 'latin1');
  header.write(entry.link ?? '', 157);
  header.write(entry.magic ?? 'ustar\x0000', 257, 'latin1');
  header.write(entry.prefix ?? '', 345);
  const sum = header.reduce((total, byte) => total + byte, 0) + (entry.damaged === true ? 1 : 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

/** Builds the content of an extended header. */
export function paxRecord(key: string, value: string | Uint8Array): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${key}=`), Buffer.from(value), Buffer.from('\n')]);
  let length = rest.length + 1;
  while (String(length).length + rest.length > length) length++;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}
