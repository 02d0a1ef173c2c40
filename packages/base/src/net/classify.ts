import { bareHost, parseZonedAddress } from './address.ts';
import { contains, parseNetwork } from './network.ts';
import { GLOBAL_UNICAST_V6, SPECIAL_NETWORKS, type NetworkClass } from './special-networks.ts';

/** The class of an IP address, `malformed` if the string is not one. */
export type AddressClass = NetworkClass | 'malformed';

const SPECIAL_RANGES = SPECIAL_NETWORKS.map((each) => ({ range: parseNetwork(each.network)!, class: each.class }));
const GLOBAL_UNICAST = parseNetwork(GLOBAL_UNICAST_V6)!;

/**
 * Classifies an address as written by resolvers and sockets (`10.0.0.1`, `fe80::1%eth0`); anything else is `malformed`.
 */
export function classifyAddress(text: string): AddressClass {
  const address = parseZonedAddress(text);
  if (address === null) return 'malformed';
  const special = SPECIAL_RANGES.find(({ range }) => contains(range, address));
  if (special !== undefined) return special.class;
  return address.family === 4 || contains(GLOBAL_UNICAST, address) ? 'public' : 'reserved';
}

/** Returns whether only programs of this machine can reach `host`: a loopback address, or `localhost`. */
export function isLoopbackHost(host: string): boolean {
  const bare = bareHost(host);
  return bare === 'localhost' || classifyAddress(bare) === 'loopback';
}
