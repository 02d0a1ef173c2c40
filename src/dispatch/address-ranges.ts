import ipaddr from 'ipaddr.js';

/** What an IP address is for. Only `public` may be called without a rule that says otherwise. */
export type AddressClass =
  | 'public'
  | 'loopback'
  | 'private'
  | 'link_local'
  | 'metadata'
  | 'multicast'
  | 'unspecified'
  | 'broadcast'
  | 'carrier_grade_nat'
  | 'embedded_ipv4'
  | 'reserved'
  | 'malformed';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Metadata services of clouds; most lie in a blocked range anyway, Azure's (168.63.129.16) does not. */
const METADATA_ADDRESSES: ReadonlySet<string> = new Set([
  '169.254.169.254',
  '169.254.170.2',
  '169.254.169.123',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
  'fe80::a9fe:a9fe',
]);

/** `range()` of ipaddr.js to our classes; a name that is not listed here is not called. */
const CLASS_BY_RANGE: Readonly<Record<string, AddressClass>> = {
  unicast: 'public',
  loopback: 'loopback',
  private: 'private',
  uniqueLocal: 'private',
  deprecatedSiteLocal: 'private',
  linkLocal: 'link_local',
  multicast: 'multicast',
  unspecified: 'unspecified',
  broadcast: 'broadcast',
  carrierGradeNat: 'carrier_grade_nat',
  ipv4Mapped: 'embedded_ipv4',
  rfc6145: 'embedded_ipv4',
  rfc6052: 'embedded_ipv4',
  '6to4': 'embedded_ipv4',
  teredo: 'embedded_ipv4',
};

/** IPv6 hands out global unicast addresses from here only: whatever lies outside is refused, named or not. */
const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parseCIDR('2000::/3');

function parseStrictly(text: string): Address | null {
  // ipaddr.js also reads `127.1` and `0x7f000001`; a resolver never answers so, and a guess could differ from the kernel's.
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (!text.includes(':') || !ipaddr.IPv6.isValid(text)) return null;
  const address = ipaddr.IPv6.parse(text);
  delete address.zoneId;
  return address;
}

/** Classifies an address as resolvers and sockets write it (`10.0.0.1`, `fe80::1%eth0`); anything else is `malformed`. */
export function classifyAddress(text: string): AddressClass {
  const address = parseStrictly(text);
  if (address === null) return 'malformed';
  if (METADATA_ADDRESSES.has(address.toString())) return 'metadata';
  const found = CLASS_BY_RANGE[address.range()] ?? 'reserved';
  if (found === 'public' && address instanceof ipaddr.IPv6 && !address.match(GLOBAL_UNICAST_V6)) return 'reserved';
  return found;
}

export type Cidr = readonly [Address, number];

/** Reads `10.0.0.0/8`, `fd00::/8` or a single address; null where it is neither. */
export function parseCidr(text: string): Cidr | null {
  const single = parseStrictly(text);
  if (single !== null) return [single, single instanceof ipaddr.IPv4 ? 32 : 128];
  const [base, length, rest] = text.split('/');
  if (base === undefined || length === undefined || rest !== undefined || !/^\d{1,3}$/.test(length)) return null;
  const address = parseStrictly(base);
  if (address === null || Number(length) > (address instanceof ipaddr.IPv4 ? 32 : 128)) return null;
  return [address, Number(length)];
}

/** Whether the address lies in the range; an IPv4 range never covers an IPv6 spelling of its addresses. */
export function cidrContains([base, length]: Cidr, text: string): boolean {
  const address = parseStrictly(text);
  if (address instanceof ipaddr.IPv4) return base instanceof ipaddr.IPv4 && address.match(base, length);
  if (address instanceof ipaddr.IPv6) return base instanceof ipaddr.IPv6 && address.match(base, length);
  return false;
}
