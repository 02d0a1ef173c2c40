import { networkInterfaces } from 'node:os';
import { parseZonedAddress } from '@heddle/base/net/address';

/** Writes an address as 32-bit numbers: one for IPv4, four for IPv6. */
export function addressWords(ip: string, family: 4 | 6, into: Uint32Array, at: number): void {
  if (family === 4) {
    into[at] = ipv4Word(ip);
    into[at + 1] = into[at + 2] = into[at + 3] = 0;
    return;
  }
  const { value } = parseZonedAddress(ip)!;
  for (let word = 0; word < 4; word++)
    into[at + word] = Number((BigInt(value) >> BigInt(96 - 32 * word)) & 0xffff_ffffn);
}

function ipv4Word(ip: string): number {
  let word = 0;
  let part = 0;
  for (let index = 0; index < ip.length; index++) {
    const code = ip.charCodeAt(index);
    if (code === 0x2e) {
      word = (word << 8) | part;
      part = 0;
    } else {
      part = part * 10 + (code - 0x30);
    }
  }
  return ((word << 8) | part) >>> 0;
}

/** Returns the interface index of an address such as `fe80::1%eth0`; 0 without a zone. */
export function scopeId(ip: string): number {
  const percent = ip.indexOf('%');
  if (percent < 0) return 0;
  const zone = ip.slice(percent + 1);
  if (/^\d+$/.test(zone)) return Number(zone);
  for (const { scopeid } of networkInterfaces()[zone] ?? []) if (scopeid !== undefined && scopeid > 0) return scopeid;
  return 0;
}
