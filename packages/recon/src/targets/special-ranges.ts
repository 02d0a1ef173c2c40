import { type Address, IPV4_MAX, IPV6_MAX } from '@heddle/base/net/address';
import { type AddressRange, parseNetwork } from '@heddle/base/net/network';
import { GLOBAL_UNICAST_V6, SPECIAL_NETWORKS } from '@heddle/base/net/special-networks';
import { AddressSet } from './address-set.ts';

/**
 * Addresses that are neither public, private nor loopback: only a scope entry that names them by address allows them.
 */
export interface SpecialBlock {
  /** Description, which continues `is …`. */
  readonly what: string;
  readonly network: string;
  readonly range: AddressRange;
  /** Its addresses without those of nested blocks. */
  readonly own: AddressSet;
  /** How it embeds IPv4 addresses: the number of bits they are shifted by; null if it does not. */
  readonly embedsShift: number | null;
}

const EVERYTHING = AddressSet.of([
  { family: 4, first: 0, last: IPV4_MAX },
  { family: 6, first: 0n, last: IPV6_MAX },
]);

function specialBlocks(): { special: SpecialBlock[]; free: AddressSet; ordinary: AddressSet } {
  const special: SpecialBlock[] = [];
  let taken = AddressSet.of([]);
  const add = (network: string, what: string, range: AddressRange, embedsShift: number | null): void => {
    const set = AddressSet.of([range]);
    special.push({ what, network, range, own: set.without(taken), embedsShift });
    taken = taken.union(set);
  };
  let free = AddressSet.of([]);
  for (const { network, class: kind, what, embeds_shift } of SPECIAL_NETWORKS) {
    const range = parseNetwork(network)!;
    if (kind === 'loopback' || kind === 'private') {
      const own = AddressSet.of([range]).without(taken);
      free = free.union(own);
      taken = taken.union(own);
    } else add(network, what, range, embeds_shift ?? null);
  }
  const known = AddressSet.of([{ family: 4, first: 0, last: IPV4_MAX }, parseNetwork(GLOBAL_UNICAST_V6)!]);
  for (const range of EVERYTHING.without(known).without(taken).ranges) {
    add('the reserved rest of IPv6', 'a reserved address', range, null);
  }
  return { special, free, ordinary: EVERYTHING.without(unionOf(special)) };
}

function unionOf(special: readonly SpecialBlock[]): AddressSet {
  return special.reduce((set, { own }) => set.union(own), AddressSet.of([]));
}

const BLOCKS = specialBlocks();

export const SPECIAL_BLOCKS: readonly SpecialBlock[] = BLOCKS.special;
/** Loopback and private networks, which need no scope. */
export const UNRESTRICTED_ADDRESSES: AddressSet = BLOCKS.free;
/** Everything that is not special: loopback, private and public. */
export const ORDINARY_ADDRESSES: AddressSet = BLOCKS.ordinary;

/** Returns the special block of an address; null for public, private and loopback addresses. */
export function specialBlockOf(address: Address): SpecialBlock | null {
  return SPECIAL_BLOCKS.find(({ own }) => own.has(address)) ?? null;
}

/** Returns the IPv4 address embedded in an address of a block. */
export function embeddedIpv4({ range, embedsShift }: SpecialBlock, address: Address): Address | null {
  if (embedsShift === null || address.family === 4 || range.family === 4) return null;
  return { family: 4, value: Number(((address.value - range.first) >> BigInt(embedsShift)) & 0xffff_ffffn) };
}

/** Returns the addresses of a block that embed one of the given IPv4 addresses. */
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
