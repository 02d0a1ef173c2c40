import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';

import { parseAddress, parseZonedAddress } from '@heddle/base/net/address';
import type { ParsedCertificate } from './certificate.ts';

const NAME_CHARACTERS_MAX = 253;

/** Returns the SNI name: in ASCII, without a trailing dot; null for addresses, which have none. */
export function serverNameOf(host: string): string | null {
  if (isIP(host) !== 0) return null;
  const name = domainToASCII(host.replace(/\.$/, ''));
  // Names with underscores exist and work; invalid names are not sent.
  const isName = /^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?$/i.test(name) && name.length <= NAME_CHARACTERS_MAX;
  return isName ? name : null;
}

/**
 * Returns whether a certificate covers a host, by RFC 6125: DNS names with at most one wildcard as the whole leftmost
 * label; addresses only if listed; the common name only without other names.
 */
export function coversHost({ dns_names, addresses, record }: ParsedCertificate, host: string): boolean {
  const wanted = parseZonedAddress(host);
  if (wanted !== null) return addresses.some((address) => parseAddress(address)?.value === wanted.value);
  const name = (serverNameOf(host) ?? host).toLowerCase();
  if (dns_names.length > 0 || addresses.length > 0) return dns_names.some((pattern) => covers(pattern, name));
  return record.subject_cn !== null && covers(record.subject_cn, name);
}

export function isWildcard({ dns_names, addresses, record }: ParsedCertificate): boolean {
  const names = dns_names.length > 0 || addresses.length > 0 ? dns_names : [record.subject_cn ?? ''];
  return names.some((name) => name.startsWith('*.'));
}

function covers(pattern: string, name: string): boolean {
  const wanted = pattern.toLowerCase().replace(/\.$/, '');
  if (!wanted.startsWith('*.')) return wanted === name;
  const parent = wanted.slice(2);
  const dot = name.indexOf('.');
  // `*.org` would cover everything below a top-level domain.
  return parent.includes('.') && !parent.includes('*') && dot > 0 && name.slice(dot + 1) === parent;
}
