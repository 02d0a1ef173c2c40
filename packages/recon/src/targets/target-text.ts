import { type Address, parseAddress, parseIpv4 } from '@heddle/base/net/address';
import { type AddressRange, bitsOf, networkOf } from '@heddle/base/net/network';
import { normalizeName } from './host-name.ts';

/** One host with its own port. */
export interface PinnedHost {
  readonly host: string;
  readonly ip: string | null;
  readonly port: number;
}

export type TargetText =
  | { kind: 'range'; range: AddressRange }
  | { kind: 'name'; name: string }
  | { kind: 'pinned'; pinned: PinnedHost }
  | { kind: 'fault'; fault: string };

/** Default ports of schemes. */
const SCHEME_PORTS: Readonly<Record<string, number>> = {
  http: 80,
  https: 443,
  ws: 80,
  wss: 443,
  ftp: 21,
  ftps: 990,
  ssh: 22,
  smtp: 25,
  smtps: 465,
  imap: 143,
  imaps: 993,
  pop3: 110,
  pop3s: 995,
  ldap: 389,
  ldaps: 636,
  postgres: 5432,
  postgresql: 5432,
  mysql: 3306,
  redis: 6379,
  rediss: 6379,
  amqp: 5672,
  amqps: 5671,
  mongodb: 27017,
};

const PORT_MAX = 65_535;

/**
 * Parses one target: a name, an address, a network (`10.0.0.0/8`), a range (`10.0.0.1-10.0.0.9`, `10.0.0.1-9`), a host
 * with a port (`host:80`, `[::1]:80`), or a URL. A fault is worded to follow the quoted target.
 */
export function readTarget(text: string): TargetText {
  if (text.includes('%')) return fault('has a zone id, or an escape; write the address or the name alone');
  const url = /^([a-z][a-z0-9+.-]*):\/\/([^/?#\\]*)/i.exec(text);
  if (url !== null) return readUrl(url[1]!.toLowerCase(), url[2]!);
  if (text.startsWith('[')) return readBracketed(text, null);
  if (text.includes('/')) return readNetwork(text);
  const address = parseAddress(text);
  if (address !== null) return { kind: 'range', range: networkOf(address) };
  const dash = text.indexOf('-');
  const first = dash < 1 ? null : parseAddress(text.slice(0, dash));
  if (first !== null) return readRange(first, text.slice(0, dash), text.slice(dash + 1));
  return readHost(text, null);
}

function readUrl(scheme: string, authority: string): TargetText {
  if (authority.includes('@')) return fault('has a user before its host; remove everything up to the @');
  const port = SCHEME_PORTS[scheme] ?? null;
  return authority.startsWith('[') ? readBracketed(authority, port) : readHost(authority, port);
}

function readBracketed(text: string, schemePort: number | null): TargetText {
  const [, inner, rest] = /^\[([^\]]*)\](.*)$/.exec(text) ?? [];
  const address = inner === undefined ? null : parseAddress(inner);
  if (address?.family !== 6) return fault('has brackets around something that is not an IPv6 address');
  if (rest === '' && schemePort === null) return { kind: 'range', range: networkOf(address, 128) };
  const port = rest === '' ? schemePort : rest!.startsWith(':') ? readPort(rest!.slice(1)) : null;
  if (port === null) return fault(portFault(rest!));
  return { kind: 'pinned', pinned: { host: inner!.toLowerCase(), ip: inner!.toLowerCase(), port } };
}

function readHost(text: string, schemePort: number | null): TargetText {
  const colons = text.split(':').length - 1;
  if (colons > 1) return fault('is not an IPv6 address; with a port, write [address]:port');
  const [host = '', portText] = text.split(':');
  const port = portText === undefined ? schemePort : readPort(portText);
  if (portText !== undefined && port === null) return fault(portFault(`:${portText}`));
  const v4 = parseIpv4(host);
  if (v4 !== null) {
    if (port === null) return { kind: 'range', range: { family: 4, first: v4, last: v4 } };
    return { kind: 'pinned', pinned: { host, ip: host, port } };
  }
  const verdict = normalizeName(host);
  if (!verdict.ok) return fault(addressFault(host) ?? verdict.fault);
  if (port === null) return { kind: 'name', name: verdict.name };
  return { kind: 'pinned', pinned: { host: verdict.name, ip: null, port } };
}

function readNetwork(text: string): TargetText {
  const [base = '', length = '', rest] = text.split('/');
  const address = parseAddress(base);
  if (address === null) {
    if (/^[a-z]/i.test(base)) return fault('has a path; write the host alone, or a URL with its scheme');
    return fault(`is not a network: ${base} is not an address`);
  }
  const bits = bitsOf(address);
  if (rest !== undefined || !/^(?:0|[1-9]\d{0,2})$/.test(length) || Number(length) > bits) {
    return fault(`is not a network: the prefix length must be a number from 0 to ${bits}`);
  }
  return { kind: 'range', range: networkOf(address, Number(length)) };
}

function readRange(first: Address, firstText: string, lastText: string): TargetText {
  // `10.0.0.1-9` varies only the last part.
  const short = first.family === 4 && /^(?:0|[1-9]\d{0,2})$/.test(lastText);
  const last = parseAddress(short ? `${firstText.slice(0, firstText.lastIndexOf('.'))}.${lastText}` : lastText);
  if (last?.family !== first.family) return fault(`is not a range: ${lastText} is not a valid last address`);
  if (last.value < first.value) return fault('is not a range: it ends before it begins');
  return { kind: 'range', range: { family: first.family, first: first.value, last: last.value } as AddressRange };
}

/** Parses a port from 1 to 65535; returns null for anything else. */
export function readPort(text: string): number | null {
  if (!/^[1-9]\d{0,4}$/.test(text)) return null;
  const port = Number(text);
  return port <= PORT_MAX ? port : null;
}

/** Returns the fault of something that was meant to be an IPv4 address. */
function addressFault(text: string): string | null {
  if (!/^\d+(?:\.\d+){3}$/.test(text)) return null;
  const parts = text.split('.');
  const large = parts.find((part) => Number(part) > 255);
  if (large !== undefined) return `is not an IPv4 address: ${large} is larger than 255`;
  return 'has numbers with leading zeros, which some read as octal; write it without them';
}

function portFault(text: string): string {
  return `has no port from 1 to ${PORT_MAX} at its end: ${text.replace(/^:/, '') || 'there is none'}`;
}

function fault(text: string): TargetText {
  return { kind: 'fault', fault: text };
}
