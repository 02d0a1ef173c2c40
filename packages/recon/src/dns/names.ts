import { isIP, SocketAddress } from 'node:net';
import { domainToASCII } from 'node:url';
import { parseZonedAddress } from '@heddle/base/net/address';

const LABEL_BYTES_MAX = 63;
/**
 * 255 bytes on the wire: the dots between labels stand for their length bytes; the first length byte and the root are
 * extra.
 */
const NAME_CHARACTERS_MAX = 253;

const DOT = 0x2e;
const STAR = 0x2a;
const HYPHEN = 0x2d;
const UNDERSCORE = 0x5f;

export type NameVerdict = { ok: true; name: string } | { ok: false; reason: string };

/**
 * Normalizes a name for a query: lower case, A-labels for non-ASCII, no trailing dot. Underscores are allowed, and an
 * asterisk as the first label.
 */
export function normalizeName(text: string): NameVerdict {
  let name = text.endsWith('.') ? text.slice(0, -1) : text;
  if (hasNonAscii(name)) {
    const ascii = domainToASCII(name);
    if (ascii === '') return { ok: false, reason: 'it has no form in ASCII (IDNA)' };
    name = ascii;
  }
  name = name.toLowerCase();
  const reason = faultOf(name);
  return reason === null ? { ok: true, name } : { ok: false, reason };
}

function hasNonAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return true;
  return false;
}

function faultOf(name: string): string | null {
  if (name.length === 0) return 'it is empty';
  if (name.length > NAME_CHARACTERS_MAX) return `it has more than ${NAME_CHARACTERS_MAX} characters`;
  let labelStart = 0;
  let digitsOnly = true;
  for (let at = 0; at <= name.length; at++) {
    const code = at === name.length ? DOT : name.charCodeAt(at);
    if (code === DOT) {
      if (at === labelStart) return 'a label is empty';
      if (at - labelStart > LABEL_BYTES_MAX) return `a label has more than ${LABEL_BYTES_MAX} characters`;
      if (at === name.length && digitsOnly) return 'its last label is a number';
      labelStart = at + 1;
      digitsOnly = true;
    } else if (code < 0x30 || code > 0x39) {
      digitsOnly = false;
      const letter = code >= 0x61 && code <= 0x7a;
      const star = code === STAR && at === 0 && (name.length === 1 || name.charCodeAt(1) === DOT);
      if (!letter && !star && code !== HYPHEN && code !== UNDERSCORE) return `'${name.charAt(at)}' cannot be in a name`;
    }
  }
  return null;
}

/** Returns 4 or 6 for an address, else 0. Cheap for obvious names. */
export function addressFamily(text: string): 0 | 4 | 6 {
  const last = text.charCodeAt(text.length - 1);
  const mayBeAddress = (last >= 0x30 && last <= 0x39) || text.includes(':');
  return mayBeAddress ? (isIP(text) as 0 | 4 | 6) : 0;
}

/** Returns the name that holds the PTR records of an address. */
export function reverseName(address: string, family: 4 | 6): string {
  if (family === 4) return `${address.split('.').reverse().join('.')}.in-addr.arpa`;
  const digits = parseZonedAddress(address)!.value.toString(16).padStart(32, '0');
  return `${Array.from(digits).reverse().join('.')}.ip6.arpa`;
}

/** Returns an address in the spelling of the operating system, zone included. */
export function canonicalAddress(address: string, family: 4 | 6): string {
  const [plain, zone] = address.split('%', 2) as [string, string | undefined];
  const canonical = new SocketAddress({ address: plain, family: family === 4 ? 'ipv4' : 'ipv6' }).address;
  return zone === undefined ? canonical : `${canonical}%${zone}`;
}

/** Returns the name without its first label; null if nothing is left. */
export function parentOf(name: string): string | null {
  const dot = name.indexOf('.');
  return dot === -1 ? null : name.slice(dot + 1);
}
