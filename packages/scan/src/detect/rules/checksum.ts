import { crc32 } from 'node:zlib';
import type { Rule } from './rule.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** How credentials prove that they are not made up, by algorithm. Each returns false for a secret that was. */
export const CHECKSUMS = {
  /** The last six characters are the CRC-32 of what follows the prefix, in base 62: GitHub, npm. */
  'crc32-base62': (secret) => {
    const body = secret.slice(secret.lastIndexOf('_') + 1);
    return base62(crc32(body.slice(0, -6))).padStart(6, '0') === body.slice(-6);
  },
  /** The last seven characters are the CRC-32 of all before them, in base 36: routable tokens of GitLab. */
  'crc32-base36': (secret) => crc32(secret.slice(0, -7)).toString(36).padStart(7, '0') === secret.slice(-7),
  /** The last eight characters are the CRC-32 of what precedes the last underscore, as little-endian bytes: Grafana. */
  'crc32-hex': (secret) => {
    const at = secret.lastIndexOf('_');
    const sum = Buffer.alloc(4);
    sum.writeUInt32LE(crc32(secret.slice(0, at)));
    return sum.toString('hex') === secret.slice(at + 1);
  },
  /** A macaroon, version 2, in base64 after the prefix: PyPI. */
  macaroon: (secret) => isMacaroon(Buffer.from(secret.slice(secret.indexOf('-') + 1), 'base64url')),
  /** Bech32 (BIP 173), as the secret keys of age have it. */
  bech32: (secret) => isBech32(secret.toLowerCase()),
} as const satisfies Readonly<Record<string, (secret: string) => boolean>>;

export type ChecksumName = keyof typeof CHECKSUMS;

export function isChecksum(name: string): name is ChecksumName {
  return Object.hasOwn(CHECKSUMS, name);
}

/** Returns false if the credentials of a rule have a checksum and this secret's is wrong. */
export function checksumHolds({ checksum }: Pick<Rule, 'checksum'>, secret: string): boolean {
  return checksum === undefined || CHECKSUMS[checksum](secret);
}

function base62(number: number): string {
  let text = '';
  for (let rest = number; rest > 0; rest = Math.floor(rest / 62)) text = BASE62[rest % 62]! + text;
  return text;
}

const MACAROON_VERSION = 2;
/** Types of a macaroon's fields. */
const SIGNATURE = 6;
const SIGNATURE_BYTES = 32;

/** Returns whether all bytes are fields, of which a signature is the last. */
function isMacaroon(bytes: Buffer): boolean {
  if (bytes[0] !== MACAROON_VERSION) return false;
  let at = 1;
  while (at < bytes.length) {
    const type = bytes[at++]!;
    // Type 0 ends a section, and has no length.
    if (type === 0) continue;
    if (type > SIGNATURE) return false;
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      if (byte === undefined || shift > 14) return false;
      length |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    at += length;
    if (type === SIGNATURE) return length === SIGNATURE_BYTES && at === bytes.length;
  }
  return false;
}

const BECH32 = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const BECH32_GENERATORS = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];

function isBech32(text: string): boolean {
  const at = text.lastIndexOf('1');
  const prefix = Array.from(text.slice(0, at)).map((each) => each.charCodeAt(0));
  const values = Array.from(text.slice(at + 1)).map((each) => BECH32.indexOf(each));
  let sum = 1;
  for (const value of [...prefix.map((code) => code >> 5), 0, ...prefix.map((code) => code & 31), ...values]) {
    const top = sum >>> 25;
    sum = ((sum & 0x1ffffff) << 5) ^ value;
    BECH32_GENERATORS.forEach((generator, bit) => {
      if (((top >>> bit) & 1) === 1) sum ^= generator;
    });
  }
  return at > 0 && !values.includes(-1) && sum === 1;
}
