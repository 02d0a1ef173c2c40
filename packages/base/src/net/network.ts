import { parseZonedAddress, type Address } from './address.ts';

/** A range of addresses of one family; both ends are included. */
export type AddressRange =
  | { readonly family: 4; readonly first: number; readonly last: number }
  | { readonly family: 6; readonly first: bigint; readonly last: bigint };

export function bitsOf({ family }: Address): number {
  return family === 4 ? 32 : 128;
}

/** Returns the addresses that share the first bits of one. */
export function networkOf(address: Address, length = bitsOf(address)): AddressRange {
  if (address.family === 4) {
    const size = 2 ** (32 - length);
    const first = Math.floor(address.value / size) * size;
    return { family: 4, first, last: first + size - 1 };
  }
  const size = 1n << BigInt(128 - length);
  const first = (address.value / size) * size;
  return { family: 6, first, last: first + size - 1n };
}

/** Parses `10.0.0.0/8`, `fd00::/8` or a single address; returns null for anything else. */
export function parseNetwork(text: string): AddressRange | null {
  const [base = '', length, rest] = text.split('/');
  const address = parseZonedAddress(base);
  if (address === null || rest !== undefined) return null;
  if (length === undefined) return networkOf(address);
  return /^\d{1,3}$/.test(length) && Number(length) <= bitsOf(address) ? networkOf(address, Number(length)) : null;
}

/** Returns whether an address is in a range; an IPv4 range never covers an IPv6 form of its addresses. */
export function contains({ family, first, last }: AddressRange, address: Address): boolean {
  return family === address.family && first <= address.value && address.value <= last;
}
