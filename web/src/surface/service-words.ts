import type { Model } from '@heddle/client';
import { textOf } from './model-data.ts';

/** Banners escape what is not printable. */
const LINE_END = /(?:\\[rn]|\s)+$/;

export function bannerOf({ data }: Pick<Model, 'data'>): string {
  return textOf(data, 'banner')?.replace(LINE_END, '') ?? '';
}

export interface Product {
  name: string;
  version: string | null;
}

/** What greets first says what it is in one of these forms; the first group is the product, the second its version. */
const GREETINGS: readonly RegExp[] = [
  /^SSH-[\d.]+-([A-Za-z][A-Za-z-]*?)(?:_([\w.]+))?(?:[-\s]|$)/,
  /Server: ([\w-]+)(?:\/([\w.]+))?/i,
  /\b(Postfix|Exim|Sendmail|ProFTPD|vsFTPd|Pure-FTPd|Dovecot|Redis|MariaDB|MySQL)\b[\s/v]*(\d[\w.]*)?/i,
  /\b([A-Za-z][\w-]+)\/(\d[\w.]*)/,
];

/** The product and version that a banner names; null if it names none in a common form. */
export function productOf(banner: string): Product | null {
  for (const greeting of GREETINGS) {
    const [, name, version] = greeting.exec(banner) ?? [];
    if (name !== undefined) return { name, version: version ?? null };
  }
  return null;
}

/** What usually listens on a port, for services that do not greet. */
const USUAL: Readonly<Record<number, string>> = {
  21: 'FTP',
  22: 'SSH',
  23: 'Telnet',
  25: 'SMTP',
  53: 'DNS',
  80: 'HTTP',
  110: 'POP3',
  143: 'IMAP',
  389: 'LDAP',
  443: 'HTTPS',
  445: 'SMB',
  465: 'SMTPS',
  587: 'SMTP',
  636: 'LDAPS',
  993: 'IMAPS',
  995: 'POP3S',
  1433: 'SQL Server',
  3306: 'MySQL',
  3389: 'RDP',
  5432: 'PostgreSQL',
  6379: 'Redis',
  8080: 'HTTP',
  8443: 'HTTPS',
  9200: 'Elasticsearch',
  27017: 'MongoDB',
};

export function usualService(port: number): string | null {
  return USUAL[port] ?? null;
}

/** `tls13` as people write it: `TLS 1.3`. */
export function tlsVersion(wire: string | null): string | null {
  const [, kind, major, minor] = /^(tls|ssl)(\d)(\d)$/.exec(wire ?? '') ?? [];
  return kind === undefined ? wire : `${kind.toUpperCase()} ${major!}.${minor!}`;
}

/** Formats an address as in keys of services: `10.0.0.1`, `[::1]`. */
export function keyAddress(ip: string): string {
  return ip.includes(':') ? `[${ip}]` : ip;
}
