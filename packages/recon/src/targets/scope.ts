import { type Address, formatAddress, parseAddress } from '@heddle/base/net/address';
import { type AddressRange } from '@heddle/base/net/network';
import { AddressSet } from './address-set.ts';
import { isWithin, normalizeName } from './host-name.ts';
import type { Scope, ScopeVerdict } from './port.ts';
import {
  embeddedIpv4,
  embeddingsOf,
  UNRESTRICTED_ADDRESSES,
  ORDINARY_ADDRESSES,
  SPECIAL_BLOCKS,
  specialBlockOf,
} from './special-ranges.ts';
import { Faults, placed, shown, type LocatedText } from './target-lines.ts';
import { readTarget } from './target-text.ts';

const ALLOWED: ScopeVerdict = { allowed: true };

/** The entries of a scope, parsed. */
interface ListedEntries {
  readonly ranges: readonly AddressRange[];
  readonly domains: readonly string[];
}

/** A scope whose addresses are known as ranges. */
export interface AddressScope extends Scope {
  readonly addresses: AddressSet;
}

/**
 * Creates the scope of a list: loopback and private networks, and the listed addresses, networks, ranges and domains
 * with all names below them.
 *
 * A wide entry covers no special address: 169.254.0.0/16 needs an entry within 169.254.0.0/16, a metadata service an
 * entry of its own.
 *
 * @param followed domains whose names may be resolved, as those of the loopback may, without adding any address to the
 * scope
 * @throws HeddleError VALIDATION_FAILED with position, entry and remedy of each fault
 */
export function createScope(
  entries: Iterable<string | LocatedText> = [],
  followed: readonly string[] = [],
): AddressScope {
  return new ListedScope(readEntries(entries), UNRESTRICTED_ADDRESSES, ['localhost', ...followed]);
}

/**
 * Narrows a scope by a second list: both must allow a host. Keeps only what the list names, including loopback and
 * private networks; an empty list keeps all.
 *
 * @throws HeddleError like `createScope`
 */
export function narrowScope(outer: AddressScope, entries: Iterable<string | LocatedText>): AddressScope {
  const listed = readEntries(entries);
  if (listed.ranges.length + listed.domains.length === 0) return outer;
  return new NarrowedScope(outer, new ListedScope(listed, AddressSet.of([]), []));
}

class ListedScope implements AddressScope {
  readonly addresses: AddressSet;
  readonly #domains: readonly string[];
  readonly #followed: readonly string[];

  constructor({ ranges, domains }: ListedEntries, free: AddressSet, followed: readonly string[]) {
    this.addresses = allowedAddresses(ranges, free);
    this.#domains = domains;
    this.#followed = followed;
  }

  check(ip: string, name: string | null): ScopeVerdict {
    const address = parseAddress(ip);
    if (address === null) return refused(`${shown(ip)} is not a valid address`);
    if (this.addresses.has(address)) return ALLOWED;
    const special = specialBlockOf(address);
    if (special === null && name !== null && this.#listsName(name)) return ALLOWED;
    return refused(special === null ? ordinaryReason(formatAddress(address)) : specialReason(address, this.addresses));
  }

  checkName(name: string): ScopeVerdict {
    const address = parseAddress(name);
    if (address !== null) return this.check(name, null);
    const verdict = normalizeName(name);
    if (!verdict.ok) return refused(`${shown(name)} ${verdict.fault}`);
    // Names of the loopback may be followed, but add no address to the scope.
    if (this.#listsName(verdict.name) || this.#followed.some((each) => isWithin(verdict.name, each))) return ALLOWED;
    const reverse = reverseAddress(verdict.name);
    if (reverse !== null) return this.check(reverse, null);
    return refused(`no entry of the scope covers ${verdict.name}; add it, or a domain that contains it`);
  }

  #listsName(text: string): boolean {
    const verdict = normalizeName(text);
    return verdict.ok && this.#domains.some((domain) => isWithin(verdict.name, domain));
  }
}

class NarrowedScope implements AddressScope {
  readonly addresses: AddressSet;
  readonly #outer: AddressScope;
  readonly #inner: AddressScope;

  constructor(outer: AddressScope, inner: AddressScope) {
    this.addresses = outer.addresses.intersect(inner.addresses);
    this.#outer = outer;
    this.#inner = inner;
  }

  check(ip: string, name: string | null): ScopeVerdict {
    const verdict = this.#outer.check(ip, name);
    return verdict.allowed ? this.#inner.check(ip, name) : verdict;
  }

  checkName(name: string): ScopeVerdict {
    const verdict = this.#outer.checkName(name);
    return verdict.allowed ? this.#inner.checkName(name) : verdict;
  }
}

function readEntries(entries: Iterable<string | LocatedText>): ListedEntries {
  const faults = new Faults();
  const ranges: AddressRange[] = [];
  const domains: string[] = [];
  for (const entry of placed(entries, 'scope')) {
    // `*.example.com` and `.example.com` are common spellings of a domain with all names below it.
    const target = readTarget(entry.text.replace(/^(?:\*\.|\.)(?=[^.])/, ''));
    if (target.kind === 'name') domains.push(target.name);
    else if (target.kind === 'fault') faults.add(entry, target.fault);
    else if (target.kind === 'pinned') faults.add(entry, 'names a port, but a scope contains hosts; remove the port');
    else if (hasHostBits(entry.text, target.range)) {
      faults.add(
        entry,
        'has host bits set; write the first address of the network, or the address without a prefix length',
      );
    } else ranges.push(target.range);
  }
  faults.throwIfAny();
  return { ranges, domains };
}

/** Returns whether host bits are set, as in `10.0.0.5/24`: a single address may have been meant. */
function hasHostBits(text: string, range: AddressRange): boolean {
  const [base = '', length] = text.split('/');
  return length !== undefined && parseAddress(base)?.value !== range.first;
}

/**
 * Returns all ordinary addresses of the entries; of special addresses only those of entries entirely within their
 * block.
 */
function allowedAddresses(ranges: readonly AddressRange[], free: AddressSet): AddressSet {
  let allowed = AddressSet.of(ranges).intersect(ORDINARY_ADDRESSES).union(free);
  const listedIn = SPECIAL_BLOCKS.map((block) => ({
    block,
    listed: AddressSet.of(ranges.filter((range) => isRangeWithin(range, block.range))).intersect(block.own),
  })).filter(({ listed }) => listed.count > 0n);
  for (const { block, listed } of listedIn) if (block.embedsShift === null) allowed = allowed.union(listed);
  // An address that embeds another one needs permission for the inner one too.
  const inner = new AddressSet(allowed.v4, AddressSet.of([]).v6);
  for (const { block, listed } of listedIn) {
    if (block.embedsShift !== null) allowed = allowed.union(listed.intersect(embeddingsOf(block, inner)));
  }
  return allowed;
}

function isRangeWithin(range: AddressRange, within: AddressRange): boolean {
  return range.family === within.family && range.first >= within.first && range.last <= within.last;
}

function ordinaryReason(ip: string): string {
  return `no entry of the scope covers ${ip}; add it, or a network that contains it`;
}

function specialReason(address: Address, allowed: AddressSet): string {
  const block = specialBlockOf(address)!;
  const ip = formatAddress(address);
  const inner = embeddedIpv4(block, address);
  if (inner === null) return `${ip} is ${block.what}; only an entry that names it by address allows it: ${ip}`;
  const innerIp = formatAddress(inner);
  const innerToo = allowed.has(inner) ? '' : `, and one that allows ${innerIp}`;
  return `${ip} is ${block.what} and leads to ${innerIp}; target ${innerIp} itself, or add an entry ${ip}${innerToo}`;
}

/** Returns the address of a complete name below in-addr.arpa or ip6.arpa; null for other names. */
function reverseAddress(name: string): string | null {
  if (isWithin(name, 'in-addr.arpa')) {
    return name.split('.').slice(0, -2).reverse().join('.');
  }
  if (!isWithin(name, 'ip6.arpa')) return null;
  const nibbles = name.split('.').slice(0, -2).reverse().join('');
  return /^[0-9a-f]{32}$/.test(nibbles) ? nibbles.replace(/(.{4})(?!$)/g, '$1:') : null;
}

function refused(reason: string): ScopeVerdict {
  return { allowed: false, reason };
}
