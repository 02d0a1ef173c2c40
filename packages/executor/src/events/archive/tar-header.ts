import { CodeFault } from '../code-fault.ts';
import { beforeNul, utf8 } from './text.ts';

export interface TarHeader {
  readonly path: string;
  readonly bytes: number;
  /** Type flag: `0` for a file, `5` for a directory, and so on. */
  readonly type: string;
}

const NAME = [0, 100] as const;
const SIZE = [124, 136] as const;
const CHECKSUM = [148, 156] as const;
const TYPE_AT = 156;
const MAGIC_AT = 257;
const PREFIX = [345, 500] as const;

/** Parses a 512-byte block that is not all zero. @throws CodeFault */
export function readTarHeader(block: Buffer): TarHeader {
  if (checksumOf(block) !== octal(block.subarray(...CHECKSUM))) throw new CodeFault('it is not a valid tar archive');
  const name = utf8(beforeNul(block.subarray(...NAME)));
  // GNU's own format stores times where ustar stores the prefix of a long name.
  const isPosix = block.toString('latin1', MAGIC_AT, MAGIC_AT + 6) === 'ustar\0';
  const prefix = isPosix ? utf8(beforeNul(block.subarray(...PREFIX))) : '';
  return {
    path: prefix === '' ? name : `${prefix}/${name}`,
    bytes: sizeOf(block.subarray(...SIZE)),
    type: String.fromCharCode(block[TYPE_AT]!),
  };
}

function sizeOf(field: Buffer): number {
  // The high bit marks GNU's binary sizes, for files above 8 GiB, far beyond any limit.
  if ((field[0]! & 0x80) !== 0) throw new CodeFault('the archive has an oversized entry');
  return octal(field);
}

function octal(field: Buffer): number {
  const digits = beforeNul(field).toString('latin1').trim();
  if (!/^[0-7]{0,12}$/.test(digits)) throw new CodeFault('it is not a valid tar archive');
  return digits === '' ? 0 : Number.parseInt(digits, 8);
}

/** Returns the sum of all bytes, with the checksum field counted as spaces. */
function checksumOf(block: Buffer): number {
  let sum = 0;
  for (let at = 0; at < block.length; at += 1) sum += at >= CHECKSUM[0] && at < CHECKSUM[1] ? 0x20 : block[at]!;
  return sum;
}
