import { formatAddress, parseAddress, type Address } from './address.ts';
import { AddressSet, type AddressRange } from './address-set.ts';
import { isWithin, normalizeName } from './host-name.ts';
import type { Scope, ScopeVerdict } from './port.ts';
import {
  embeddedIpv4,
  embeddingsOf,
  FREE_ADDRESSES,
  ORDINARY_ADDRESSES,
  SPECIAL_BLOCKS,
  specialBlockOf,
} from './special-ranges.ts';
import { Faults, placed, shown, type PlacedText } from './target-lines.ts';
import { readTarget } from './target-text.ts';

const ALLOWED: ScopeVerdict = { allowed: true };

/** What a scope lists, read but not judged yet. */
interface ListedEntries {
  readonly ranges: readonly AddressRange[];
  readonly domains: readonly string[];
}

/** A scope whose addresses are known as ranges. */
export interface AddressScope extends Scope {
  readonly addresses: AddressSet;
}

/**
 * The scope that a list makes: loopback and private networks, and what the list names (addresses, networks, ranges, domains
 * with all names below them).
 *
 * A wide line covers no special address: 169.254.0.0/16 needs a line within 169.254.0.0/16, a metadata service one for itself.
 *
 * @param followed domains whose names may be looked up, as those of the loopback may, but make no address one of the scope
 * @throws HeddleError VALIDATION_FAILED with place, text and remedy of each fault
 */
export function createScope(
  entries: Iterable<string | PlacedText> = [],
  followed: readonly string[] = [],
): AddressScope {
  return new ListedScope(readEntries(entries), FREE_ADDRESSES, ['localhost', ...followed]);
}

/**
 * What a second list leaves of a scope: both must allow it. Only what the list names is left, loopback and private networks
 * included; an empty list leaves all.
 *
 * @throws HeddleError as `createScope`
 */
export function narrowScope(outer: AddressScope, entries: Iterable<string | PlacedText>): AddressScope {
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
    if (address === null) return refused(`${shown(ip)} is no address that could be checked`);
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
    // Names of the loopback may be followed, but they make no address one of the scope.
    if (this.#listsName(verdict.name) || this.#followed.some((each) => isWithin(verdict.name, each))) return ALLOWED;
    const reverse = reverseAddress(verdict.name);
    if (reverse !== null) return this.check(reverse, null);
    return refused(`no line of the scope covers ${verdict.name}; a line that says ${verdict.name} allows it`);
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

function readEntries(entries: Iterable<string | PlacedText>): ListedEntries {
  const faults = new Faults();
  const ranges: AddressRange[] = [];
  const domains: string[] = [];
  for (const entry of placed(entries, 'scope')) {
    // `*.example.com` and `.example.com` are how others write a domain with all names below it.
    const target = readTarget(entry.text.replace(/^(?:\*\.|\.)(?=[^.])/, ''));
    if (target.kind === 'name') domains.push(target.name);
    else if (target.kind === 'fault') faults.add(entry, target.fault);
    else if (target.kind === 'pinned') faults.add(entry, 'names a port, and a scope is of hosts; leave the port out');
    else if (hasHostBits(entry.text, target.range)) {
      faults.add(
        entry,
        'is an address within a network; write the network from its first address, or the address alone',
      );
    } else ranges.push(target.range);
  }
  faults.throwIfAny();
  return { ranges, domains };
}

/** Whether `10.0.0.5/24` was written: too easily one address was meant. */
function hasHostBits(text: string, range: AddressRange): boolean {
  const [base = '', length] = text.split('/');
  return length !== undefined && parseAddress(base)?.value !== range.first;
}

/** Everything ordinary that the lines cover; of special addresses only what lies, line and all, within their block. */
function allowedAddresses(ranges: readonly AddressRange[], free: AddressSet): AddressSet {
  let allowed = AddressSet.of(ranges).intersect(ORDINARY_ADDRESSES).union(free);
  const listedIn = SPECIAL_BLOCKS.map((block) => ({
    block,
    listed: AddressSet.of(ranges.filter((range) => lies(range, block.range))).intersect(block.own),
  })).filter(({ listed }) => listed.count > 0n);
  for (const { block, listed } of listedIn) if (block.embedsShift === null) allowed = allowed.union(listed);
  // An embedded address leads to the inner one, which must be allowed in its own right.
  const inner = new AddressSet(allowed.v4, AddressSet.of([]).v6);
  for (const { block, listed } of listedIn) {
    if (block.embedsShift !== null) allowed = allowed.union(listed.intersect(embeddingsOf(block, inner)));
  }
  return allowed;
}

function lies(range: AddressRange, within: AddressRange): boolean {
  return range.family === within.family && range.first >= within.first && range.last <= within.last;
}

function ordinaryReason(ip: string): string {
  return `no line of the scope covers ${ip}; a line that says ${ip}, or names a network that it is in, allows it`;
}

function specialReason(address: Address, allowed: AddressSet): string {
  const block = specialBlockOf(address)!;
  const ip = formatAddress(address);
  const inner = embeddedIpv4(block, address);
  if (inner === null) return `${ip} is ${block.what}; only a line that names it by address allows it: ${ip}`;
  const innerIp = formatAddress(inner);
  const innerToo = allowed.has(inner) ? '' : `, beside one that allows ${innerIp}`;
  return `${ip} is ${block.what} and leads to ${innerIp}; aim at ${innerIp} itself, or add a line that says ${ip}${innerToo}`;
}

/** The address that a whole name below in-addr.arpa or ip6.arpa stands for; null for other names. */
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
