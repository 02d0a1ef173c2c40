import { crc32 } from 'node:zlib';
import type { ChecksumName } from '@heddle/scan/internal/detect/rules/checksum';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Returns a credential of the same form whose checksum is right: its last characters are replaced. */
export function withChecksum(checksum: ChecksumName, secret: string): string {
  switch (checksum) {
    case 'crc32-base62': {
      const start = secret.lastIndexOf('_') + 1;
      return secret.slice(0, -6) + inBase62(crc32(secret.slice(start, -6))).padStart(6, '0');
    }
    case 'crc32-base36':
      return secret.slice(0, -7) + crc32(secret.slice(0, -7)).toString(36).padStart(7, '0');
    case 'crc32-hex': {
      const sum = Buffer.alloc(4);
      sum.writeUInt32LE(crc32(secret.slice(0, -9)));
      return `${secret.slice(0, -8)}${sum.toString('hex')}`;
    }
    case 'macaroon':
      return secret.slice(0, secret.indexOf('-') + 1) + macaroon().toString('base64url');
    case 'bech32':
      return inBech32(secret);
  }
}

function inBase62(number: number): string {
  return number === 0 ? '' : inBase62(Math.floor(number / 62)) + BASE62[number % 62]!;
}

/** A macaroon for pypi.org, as in the description of its binary format, version 2. */
function macaroon(): Buffer {
  const field = (type: number, value: Buffer): Buffer => Buffer.concat([Buffer.from([type, value.length]), value]);
  const end = Buffer.from([0]);
  return Buffer.concat([
    Buffer.from([2]),
    field(1, Buffer.from('pypi.org')),
    field(2, Buffer.from('5f0c4d1e-93b7-4a51-8a8e-6f1f6d8a2f11')),
    end,
    field(2, Buffer.from('[2, "user"]')),
    end,
    end,
    field(6, Buffer.from(Array.from({ length: 32 }, (_, at) => (at * 37 + 11) % 256))),
  ]);
}

const BECH32 = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const BECH32_SUM_LENGTH = 6;

/** The last six letters are a checksum (BIP 173). */
function inBech32(secret: string): string {
  const text = secret.toLowerCase().slice(0, -BECH32_SUM_LENGTH);
  const at = text.lastIndexOf('1');
  const prefix = Array.from(text.slice(0, at)).map((each) => each.charCodeAt(0));
  const values = [...prefix.map((code) => code >> 5), 0, ...prefix.map((code) => code & 31)];
  for (const letter of text.slice(at + 1)) values.push(BECH32.indexOf(letter));
  const sum = [...values, 0, 0, 0, 0, 0, 0].reduce(nextSum, 1) ^ 1;
  const letters = Array.from({ length: BECH32_SUM_LENGTH }, (_, index) => BECH32[(sum >> (5 * (5 - index))) & 31]!);
  const made = text + letters.join('');
  return secret === secret.toUpperCase() ? made.toUpperCase() : made;
}

function nextSum(sum: number, value: number): number {
  const generators = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];
  const top = sum >>> 25;
  return generators.reduce(
    (next, generator, bit) => ((top >> bit) & 1 ? next ^ generator : next),
    ((sum & 0x1ffffff) << 5) ^ value,
  );
}
