import { crc32 } from 'node:zlib';

export interface RarEntry {
  name: string;
  content?: string;
  directory?: boolean;
  /** Claims that the content is compressed. */
  packed?: boolean;
  encrypted?: boolean;
  crc?: number;
}

interface RarOptions {
  /** Names are encrypted, too. */
  isHidden?: boolean;
}

/** Builds an archive of version 4 from the format's description; no free program writes RAR. */
export function rar4(entries: readonly RarEntry[], { isHidden = false }: RarOptions = {}): Buffer {
  const block = (type: number, flags: number, rest: Buffer, data = Buffer.alloc(0)): Buffer => {
    const header = Buffer.alloc(5 + rest.length);
    header[0] = type;
    header.writeUInt16LE(flags, 1);
    header.writeUInt16LE(header.length + 2, 3);
    rest.copy(header, 5);
    const checksum = Buffer.alloc(2);
    checksum.writeUInt16LE(crc32(header) & 0xffff);
    return Buffer.concat([checksum, header, data]);
  };
  const file = ({
    name,
    content = '',
    directory = false,
    packed = false,
    encrypted = false,
    crc,
  }: RarEntry): Buffer => {
    const data = Buffer.from(content);
    const fields = Buffer.alloc(25);
    fields.writeUInt32LE(data.length, 0);
    fields.writeUInt32LE(data.length, 4);
    fields[8] = 3;
    fields.writeUInt32LE(crc ?? crc32(data), 9);
    fields[17] = 29;
    fields[18] = packed ? 0x33 : 0x30;
    fields.writeUInt16LE(Buffer.byteLength(name), 19);
    fields.writeUInt32LE(0o100644, 21);
    const flags = 0x8000 | (directory ? 0xe0 : 0) | (encrypted ? 4 : 0);
    return block(0x74, flags, Buffer.concat([fields, Buffer.from(name)]), data);
  };
  return Buffer.concat([
    Buffer.from('Rar!\x1a\x07\0', 'latin1'),
    block(0x73, isHidden ? 0x80 : 0, Buffer.alloc(6)),
    ...entries.map(file),
    block(0x7b, 0, Buffer.alloc(0)),
  ]);
}

/** Builds an archive of version 5. */
export function rar5(entries: readonly RarEntry[], { isHidden = false }: RarOptions = {}): Buffer {
  const number = (value: number): Buffer => {
    const bytes: number[] = [];
    for (let rest = value; ; rest = Math.floor(rest / 128)) {
      bytes.push((rest % 128) | (rest >= 128 ? 0x80 : 0));
      if (rest < 128) return Buffer.from(bytes);
    }
  };
  const numbers = (...values: readonly number[]): Buffer => Buffer.concat(values.map(number));
  const block = (body: Buffer, data = Buffer.alloc(0)): Buffer => {
    const header = Buffer.concat([number(body.length), body]);
    const checksum = Buffer.alloc(4);
    checksum.writeUInt32LE(crc32(header));
    return Buffer.concat([checksum, header, data]);
  };
  const file = ({
    name,
    content = '',
    directory = false,
    packed = false,
    encrypted = false,
    crc,
  }: RarEntry): Buffer => {
    const data = Buffer.from(content);
    const checksum = Buffer.alloc(4);
    checksum.writeUInt32LE(crc ?? crc32(data));
    const extra = encrypted ? numbers(1, 1) : Buffer.alloc(0);
    const flags = 2 | (encrypted ? 1 : 0);
    return block(
      Buffer.concat([
        numbers(2, flags, ...(encrypted ? [extra.length] : []), data.length),
        numbers(4 | (directory ? 1 : 0), data.length, 0o644),
        checksum,
        numbers(packed ? 3 << 7 : 0, 1, Buffer.byteLength(name)),
        Buffer.from(name),
        extra,
      ]),
      data,
    );
  };
  return Buffer.concat([
    Buffer.from('Rar!\x1a\x07\x01\0', 'latin1'),
    block(isHidden ? numbers(4, 0, 0, 0, 15) : numbers(1, 0, 0)),
    ...entries.map(file),
    block(numbers(5, 0, 0)),
  ]);
}
