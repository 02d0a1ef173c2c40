import { domainToASCII } from 'node:url';

export type NameVerdict = { ok: true; name: string } | { ok: false; fault: string };

const NAME_CHARACTERS_MAX = 253;
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
/** C library resolvers read such a last label as a number, and the whole name as an IPv4 address. */
const NUMBER = /^(?:\d+|0x[0-9a-f]*)$/;

/**
 * Normalizes a name for resolution: lower case, no trailing dot, other scripts in ASCII form. Rejects what a resolver
 * might read as an address in octal, hexadecimal or as one number.
 */
export function normalizeName(text: string): NameVerdict {
  const bare = text.endsWith('.') ? text.slice(0, -1) : text;
  if (bare === '') return refused('is empty');
  const ascii = /^[\x21-\x7e]+$/.test(bare) ? bare.toLowerCase() : domainToASCII(bare);
  if (ascii === '') return refused('is not a host name');
  const labels = ascii.split('.');
  if (NUMBER.test(labels.at(-1)!)) {
    return refused(
      'reads like an IPv4 address; write it as four decimal numbers without leading zeros, such as 10.0.0.1',
    );
  }
  if (ascii.length > NAME_CHARACTERS_MAX) return refused(`is longer than ${NAME_CHARACTERS_MAX} characters`);
  const wrong = labels.find((label) => !LABEL.test(label));
  if (wrong === '') return refused('has two dots in a row, or begins with one');
  if (wrong !== undefined && wrong.length > 63) return refused('has a part of more than 63 characters');
  if (wrong !== undefined) return refused(`is not a host name: ${JSON.stringify(wrong)} cannot be a part of one`);
  return { ok: true, name: ascii };
}

/** Returns whether the name is the domain itself or below it; both normalized. */
export function isWithin(name: string, domain: string): boolean {
  return name === domain || (name.endsWith(domain) && name[name.length - domain.length - 1] === '.');
}

function refused(fault: string): NameVerdict {
  return { ok: false, fault };
}
