import type { DnsType } from '../records.ts';

/** Codes of the query types, from IANA's registry of DNS parameters. */
export const TYPE_CODES: Readonly<Record<DnsType, number>> = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  CAA: 257,
};

export const DNS_TYPES = Object.keys(TYPE_CODES) as DnsType[];

export const CLASS_INTERNET = 1;
export const TYPE_OPT = 41;

export const RCODE_NOERROR = 0;
export const RCODE_FORMERR = 1;
export const RCODE_SERVFAIL = 2;
export const RCODE_NXDOMAIN = 3;

const STATUS_NAMES = [
  'NOERROR',
  'FORMERR',
  'SERVFAIL',
  'NXDOMAIN',
  'NOTIMP',
  'REFUSED',
  'YXDOMAIN',
  'YXRRSET',
  'NXRRSET',
  'NOTAUTH',
  'NOTZONE',
  'DSOTYPENI',
  'RCODE12',
  'RCODE13',
  'RCODE14',
  'RCODE15',
  'BADVERS',
] as const;

/** Returns the name of a response code as used in records. */
export function statusName(rcode: number): string {
  return STATUS_NAMES[rcode] ?? `RCODE${rcode}`;
}

/** Returns the response code of a name; null for TIMEOUT and MALFORMED, which no server sent. */
export function rcodeOf(name: string): number | null {
  const rcode = (STATUS_NAMES as readonly string[]).indexOf(name);
  if (rcode >= 0) return rcode;
  return name.startsWith('RCODE') ? Number(name.slice('RCODE'.length)) : null;
}
