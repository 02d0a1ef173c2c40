import ipaddr from 'ipaddr.js';

import { GLOBAL_UNICAST_V6, SPECIAL_NETWORKS, type AddressClass as NetworkClass } from '@heddle/base/special-networks';

/** The class of an IP address, `malformed` if the string is not one. */
export type AddressClass = NetworkClass | 'malformed';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

function parseStrictly(text: string): Address | null {
  // ipaddr.js also accepts `127.1` and `0x7f000001`; a resolver never returns them, and the kernel could interpret them
  // differently.
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (!text.includes(':') || !ipaddr.IPv6.isValid(text)) return null;
  const address = ipaddr.IPv6.parse(text);
  delete address.zoneId;
  return address;
}

/**
 * Classifies an address as written by resolvers and sockets (`10.0.0.1`, `fe80::1%eth0`); anything else is `malformed`.
 */
export function classifyAddress(text: string): AddressClass {
  const address = parseStrictly(text);
  if (address === null) return 'malformed';
  const special = SPECIAL_CIDRS.find(({ cidr }) => contains(cidr, address));
  if (special !== undefined) return special.class;
  return address instanceof ipaddr.IPv4 || contains(GLOBAL_UNICAST, address) ? 'public' : 'reserved';
}

export type Cidr = readonly [Address, number];

/** Parses `10.0.0.0/8`, `fd00::/8` or a single address; returns null for anything else. */
export function parseCidr(text: string): Cidr | null {
  const single = parseStrictly(text);
  if (single !== null) return [single, single instanceof ipaddr.IPv4 ? 32 : 128];
  const [base, length, rest] = text.split('/');
  if (base === undefined || length === undefined || rest !== undefined || !/^\d{1,3}$/.test(length)) return null;
  const address = parseStrictly(base);
  if (address === null || Number(length) > (address instanceof ipaddr.IPv4 ? 32 : 128)) return null;
  return [address, Number(length)];
}

/** Returns whether the address is in the range; an IPv4 range never covers an IPv6 form of its addresses. */
export function cidrContains(cidr: Cidr, text: string): boolean {
  const address = parseStrictly(text);
  return address !== null && contains(cidr, address);
}

function contains([base, length]: Cidr, address: Address): boolean {
  if (address instanceof ipaddr.IPv4) return base instanceof ipaddr.IPv4 && address.match(base, length);
  return base instanceof ipaddr.IPv6 && address.match(base, length);
}

const SPECIAL_CIDRS = SPECIAL_NETWORKS.map((each) => ({ cidr: parseCidr(each.network)!, class: each.class }));
const GLOBAL_UNICAST = parseCidr(GLOBAL_UNICAST_V6)!;
