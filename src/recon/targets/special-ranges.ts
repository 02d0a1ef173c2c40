import { IPV4_MAX, IPV6_MAX, parseAddress, type Address } from './address.ts';
import { AddressSet, networkOf, type AddressRange } from './address-set.ts';

/** Addresses that are neither public nor private: nothing but a line of scope that names them by address allows them. */
export interface SpecialBlock {
  /** What it is, as `is …` goes on. */
  readonly what: string;
  readonly network: string;
  readonly range: AddressRange;
  /** Its addresses without those of blocks within it. */
  readonly own: AddressSet;
  /** How IPv4 addresses lie in it: by how many bits they are shifted; null where they do not. */
  readonly embedsShift: number | null;
}

/** The more special ones first: what stands below does not cover what stands above. */
const TABLE: readonly (readonly [network: string, what: string, embedsShift?: number])[] = [
  ['169.254.169.254', 'a metadata service of clouds'],
  ['169.254.170.2', 'a metadata service of clouds'],
  ['169.254.170.23', 'a metadata service of clouds'],
  ['169.254.169.123', 'a service of the cloud itself'],
  ['169.254.169.253', 'a service of the cloud itself'],
  ['100.100.100.200', 'a metadata service of clouds'],
  ['168.63.129.16', 'a metadata service of clouds'],
  ['192.0.0.192', 'a metadata service of clouds'],
  ['fd00:ec2::254', 'a metadata service of clouds'],
  ['fd00:ec2::23', 'a metadata service of clouds'],
  ['fd00:ec2::253', 'a service of the cloud itself'],
  ['fd20:ce::254', 'a metadata service of clouds'],
  ['0.0.0.0/8', 'an address of "this network", which reaches the machine itself'],
  ['100.64.0.0/10', "an address of a provider's shared network (CGNAT)"],
  ['169.254.0.0/16', 'a link-local address'],
  ['192.0.0.0/24', 'an address of IETF protocols'],
  ['192.0.2.0/24', 'an address of documentation'],
  ['198.51.100.0/24', 'an address of documentation'],
  ['203.0.113.0/24', 'an address of documentation'],
  ['192.88.99.0/24', 'a relay of 6to4'],
  ['198.18.0.0/15', 'an address of benchmarks'],
  ['224.0.0.0/4', 'a multicast address'],
  ['255.255.255.255', 'the broadcast address'],
  ['240.0.0.0/4', 'a reserved address'],
  ['::', 'the unspecified address, which reaches the machine itself'],
  ['::ffff:0:0/96', 'an IPv4 address written as IPv6 (mapped)', 0],
  ['::ffff:0:0:0/96', 'a translated IPv4 address (SIIT)', 0],
  ['64:ff9b::/96', 'a translated IPv4 address (NAT64)', 0],
  ['64:ff9b:1::/48', 'a translated IPv4 address (NAT64)'],
  ['2002::/16', 'a tunnelled IPv4 address (6to4)', 80],
  ['2001::/32', 'a tunnelled IPv4 address (Teredo)'],
  ['2001:db8::/32', 'an address of documentation'],
  ['2001::/23', 'an address of IETF protocols'],
  ['3fff::/20', 'an address of documentation'],
  ['100::/64', 'an address that discards everything'],
  ['5f00::/16', 'an address of segment routing'],
  ['fe80::/10', 'a link-local address'],
  ['fec0::/10', 'a site-local address, which is deprecated'],
  ['ff00::/8', 'a multicast address'],
];

const LOOPBACK_AND_PRIVATE = ['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '::1', 'fc00::/7'];

/** Of IPv6, addresses of the public network are given out from here only. */
const GLOBAL_UNICAST = '2000::/3';

const EVERYTHING = AddressSet.of([
  { family: 4, first: 0, last: IPV4_MAX },
  { family: 6, first: 0n, last: IPV6_MAX },
]);

function rangeOf(network: string): AddressRange {
  const [base = '', length] = network.split('/');
  const address = parseAddress(base);
  if (address === null) throw new Error(`${network} is no network`);
  return networkOf(address, length === undefined ? (address.family === 4 ? 32 : 128) : Number(length));
}

function specialBlocks(): { special: SpecialBlock[]; free: AddressSet; ordinary: AddressSet } {
  const special: SpecialBlock[] = [];
  let taken = AddressSet.of([]);
  const add = (network: string, what: string, range: AddressRange, embedsShift: number | null): void => {
    const set = AddressSet.of([range]);
    special.push({ what, network, range, own: set.without(taken), embedsShift });
    taken = taken.union(set);
  };
  const loopback = AddressSet.of([rangeOf('::1')]);
  for (const [network, what, shift] of TABLE) add(network, what, rangeOf(network), shift ?? null);
  taken = taken.union(loopback);
  // The rest of ::/96 beside the loopback and the unspecified address: notations of the very first years of IPv6.
  add('::/96', 'an IPv4 address written as IPv6 (compatible)', rangeOf('::/96'), 0);
  const free = AddressSet.of(LOOPBACK_AND_PRIVATE.map(rangeOf)).without(unionOf(special));
  const known = AddressSet.of([{ family: 4, first: 0, last: IPV4_MAX }, rangeOf(GLOBAL_UNICAST)]);
  for (const range of EVERYTHING.without(known).without(taken).without(free).ranges) {
    add('the reserved rest of IPv6', 'a reserved address', range, null);
  }
  return { special, free, ordinary: EVERYTHING.without(unionOf(special)) };
}

function unionOf(special: readonly SpecialBlock[]): AddressSet {
  return special.reduce((set, { own }) => set.union(own), AddressSet.of([]));
}

const BLOCKS = specialBlocks();

export const SPECIAL_BLOCKS: readonly SpecialBlock[] = BLOCKS.special;
/** Loopback and private networks: no scope is needed. */
export const FREE_ADDRESSES: AddressSet = BLOCKS.free;
/** Everything that is not special: loopback, private and public. */
export const ORDINARY_ADDRESSES: AddressSet = BLOCKS.ordinary;

/** The special block that an address belongs to; null for public, private and loopback addresses. */
export function specialBlockOf(address: Address): SpecialBlock | null {
  return SPECIAL_BLOCKS.find(({ own }) => own.has(address)) ?? null;
}

/** The IPv4 address within an address of a block that embeds them. */
export function embeddedIpv4({ range, embedsShift }: SpecialBlock, address: Address): Address | null {
  if (embedsShift === null || address.family === 4 || range.family === 4) return null;
  return { family: 4, value: Number(((address.value - range.first) >> BigInt(embedsShift)) & 0xffff_ffffn) };
}

/** The addresses of a block that embed one of the given IPv4 addresses. */
export function embeddingsOf({ range, embedsShift }: SpecialBlock, inner: AddressSet): AddressSet {
  if (embedsShift === null || range.family === 4) return AddressSet.of([]);
  const shift = BigInt(embedsShift);
  return AddressSet.of(
    inner.v4.intervals.map(({ first, last }) => ({
      family: 6,
      first: range.first + (BigInt(first) << shift),
      last: range.first + ((BigInt(last) + 1n) << shift) - 1n,
    })),
  );
}
