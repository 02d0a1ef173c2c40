import type { DnsType } from '../records.ts';
import type { Outcome } from './slots.ts';

const LOCALHOST = 'localhost';
/** Addresses of every name of the local machine, IPv4 first. */
export const LOOPBACK: readonly string[] = ['127.0.0.1', '::1'];

/** Returns whether a normalized name denotes the local machine and must not be queried (RFC 6761). */
export function isLocalName(name: string): boolean {
  return name === LOCALHOST || name.endsWith(`.${LOCALHOST}`);
}

/** Returns the outcome for such a name without a query: its addresses, and nothing else. */
export function localOutcome(name: string, type: DnsType): Outcome {
  const answers = type === 'A' ? { a: [LOOPBACK[0]!] } : type === 'AAAA' ? { aaaa: [LOOPBACK[1]!] } : {};
  const ttl = type === 'A' || type === 'AAAA' ? 0 : null;
  return { name, type, status: 'NOERROR', resolver: null, answers, ttl, tcp: false, rtt_ms: null };
}
