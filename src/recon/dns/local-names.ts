import type { DnsType } from '../records.ts';
import type { Outcome } from './slots.ts';

const LOCALHOST = 'localhost';
/** What every name of the machine itself stands for, IPv4 first. */
export const LOOPBACK: readonly string[] = ['127.0.0.1', '::1'];

/** Whether nobody may be asked for a name, because it stands for the machine itself (RFC 6761); it is normalized. */
export function isLocalName(name: string): boolean {
  return name === LOCALHOST || name.endsWith(`.${LOCALHOST}`);
}

/** What is known of such a name without a query: its addresses, and that there is nothing else. */
export function localOutcome(name: string, type: DnsType): Outcome {
  const answers = type === 'A' ? { a: [LOOPBACK[0]!] } : type === 'AAAA' ? { aaaa: [LOOPBACK[1]!] } : {};
  const ttl = type === 'A' || type === 'AAAA' ? 0 : null;
  return { name, type, status: 'NOERROR', resolver: null, answers, ttl, tcp: false, rtt_ms: null };
}
