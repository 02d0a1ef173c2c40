import { parseZonedAddress, unmapped } from '@heddle/base/net/address';
import { contains, parseNetwork } from '@heddle/base/net/network';

/** Returns whether an address is that of a proxy whose forwarding headers are believed. */
export function trustedProxies(networks: readonly string[]): false | ((address: string) => boolean) {
  if (networks.length === 0) return false;
  const ranges = networks.map((text) => parseNetwork(text)!);
  return (text) => {
    const address = parseZonedAddress(text);
    return address !== null && ranges.some((range) => contains(range, unmapped(address)));
  };
}
