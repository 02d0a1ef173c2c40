/**
 * IPv4 addresses as numbers, IPv6 addresses as BigInt. Accepts only spellings that every resolver and socket
 * interprets alike: one that some read as octal and others as decimal would slip past a scope.
 */

export const IPV4_MAX = 0xffff_ffff;
export const IPV6_MAX = 2n ** 128n - 1n;

/** An address of either family. */
export type Address = { family: 4; value: number } | { family: 6; value: bigint };

const OCTETS = Array.from({ length: 256 }, (_, octet) => String(octet));

/** Parses `10.0.0.1` to a number; returns null for anything but four decimal numbers without leading zeros. */
export function parseIpv4(text: string): number | null {
  const length = text.length;
  if (length < 7 || length > 15) return null;
  let value = 0;
  let octet = -1;
  let dots = 0;
  for (let at = 0; at < length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 46) {
      if (octet < 0 || dots === 3) return null;
      value = value * 256 + octet;
      octet = -1;
      dots += 1;
      continue;
    }
    // A leading zero means octal to some and decimal to others.
    if (code < 48 || code > 57 || octet === 0) return null;
    octet = (octet < 0 ? 0 : octet) * 10 + code - 48;
    if (octet > 255) return null;
  }
  return dots === 3 && octet >= 0 ? value * 256 + octet : null;
}

export function formatIpv4(value: number): string {
  return `${OCTETS[value >>> 24]!}.${OCTETS[(value >>> 16) & 255]!}.${OCTETS[(value >>> 8) & 255]!}.${OCTETS[value & 255]!}`;
}

/**
 * Parses an IPv6 address, whose last 32 bits may be in IPv4 notation; returns null for anything else, including zone
 * ids.
 */
export function parseIpv6(text: string): bigint | null {
  if (text.length < 2 || text.length > 45 || !/^[0-9a-f:.]+$/i.test(text)) return null;
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const [head, tail] = [groupsOf(halves[0]!, halves.length === 1), groupsOf(halves[1] ?? '', true)];
  if (head === null || tail === null) return null;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return null;
  let value = 0n;
  for (const group of [...head, ...new Array<number>(missing).fill(0), ...tail]) value = (value << 16n) | BigInt(group);
  return value;
}

/** @param last whether it may end in IPv4 notation */
function groupsOf(text: string, last: boolean): number[] | null {
  if (text === '') return [];
  const parts = text.split(':');
  const groups: number[] = [];
  for (const [at, part] of parts.entries()) {
    if (/^[0-9a-f]{1,4}$/i.test(part)) {
      groups.push(Number.parseInt(part, 16));
      continue;
    }
    const inner = last && at === parts.length - 1 ? parseIpv4(part) : null;
    if (inner === null) return null;
    groups.push(inner >>> 16, inner & 0xffff);
  }
  return groups;
}

export function formatIpv6(value: bigint): string {
  return formatGroups(Array.from({ length: 8 }, (_, at) => Number((value >> BigInt(112 - 16 * at)) & 0xffffn)));
}

/** Formats eight groups of 16 bits per RFC 5952: lower case, the longest run of zeros compressed. */
export function formatGroups(groups: readonly number[]): string {
  let [start, run] = [-1, 1];
  for (let at = 0; at < 8; at += 1) {
    let length = 0;
    while (at + length < 8 && groups[at + length] === 0) length += 1;
    if (length > run) [start, run] = [at, length];
  }
  const hex = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(':');
  if (start < 0) return hex(groups);
  return `${hex(groups.slice(0, start))}::${hex(groups.slice(start + run))}`;
}

/** Parses an address of either family; returns null if it is neither. */
export function parseAddress(text: string): Address | null {
  const v4 = parseIpv4(text);
  if (v4 !== null) return { family: 4, value: v4 };
  const v6 = parseIpv6(text);
  return v6 === null ? null : { family: 6, value: v6 };
}

export function formatAddress(address: Address): string {
  return address.family === 4 ? formatIpv4(address.value) : formatIpv6(address.value);
}

/** Parses an address as written by resolvers and sockets, such as `fe80::1%eth0`; drops the zone id. */
export function parseZonedAddress(text: string): Address | null {
  const zoneAt = text.indexOf('%');
  if (zoneAt < 0) return parseAddress(text);
  const value = /^%[0-9a-z.:-]+$/i.test(text.slice(zoneAt)) ? parseIpv6(text.slice(0, zoneAt)) : null;
  return value === null ? null : { family: 6, value };
}

/** Returns the IPv4 address that an IPv6 address such as `::ffff:10.0.0.1` stands for; any other address unchanged. */
export function unmapped(address: Address): Address {
  if (address.family === 4 || address.value >> 32n !== 0xffffn) return address;
  return { family: 4, value: Number(address.value & 0xffff_ffffn) };
}

/** Returns a host in lower case, without the brackets of IPv6 addresses in URLs. */
export function bareHost(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
}
