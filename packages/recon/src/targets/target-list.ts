import { HeddleError } from '@heddle/base/errors';
import { formatAddress, formatIpv4, formatIpv6, parseAddress } from '@heddle/base/net/address';
import { type AddressRange } from '@heddle/base/net/network';
import { AddressSet, AddressSetBuilder, rangeSize, rangeText } from './address-set.ts';
import { isWithin, normalizeName } from './host-name.ts';
import type { Scope, TargetHost, TargetSet } from './port.ts';
import { Faults, placed, type LocatedText } from './target-lines.ts';
import { readTarget, type PinnedHost } from './target-text.ts';

/** Indexes are numbers, which limits the size of a set. */
export const TARGETS_MAX = 2n ** 53n;

/** Hosts that a scope does not allow. */
export interface Refusal {
  /** A name, an address, or a range of addresses. */
  readonly target: string;
  /** The number of hosts it covers. */
  readonly hosts: bigint;
  readonly reason: string;
}

interface TargetParts {
  readonly addresses: AddressSet;
  readonly names: readonly string[];
  readonly pinned: readonly PinnedHost[];
}

interface Exclusions {
  readonly addresses: AddressSet;
  readonly names: ReadonlySet<string>;
  /** Domains that are excluded with all names below them. */
  readonly domains: readonly string[];
}

const REFUSALS_MAX = 1000;

/**
 * Parses targets: see `readTarget` for one of them; an entry may hold several, separated by commas or blanks, and
 * comments.
 *
 * @param options.exclude the same notations without ports; `*.example.com` excludes all names below
 * @throws HeddleError VALIDATION_FAILED with position, entry and remedy of each fault, or for more than 2^53 hosts
 */
export function parseTargets(
  texts: Iterable<string | LocatedText>,
  options: { exclude?: Iterable<string | LocatedText> } = {},
): TargetList {
  const faults = new Faults();
  const addresses = new AddressSetBuilder();
  const names = new Set<string>();
  const pinned = new Map<string, PinnedHost>();
  for (const entry of placed(texts, 'targets')) {
    const target = readTarget(entry.text);
    if (target.kind === 'fault') faults.add(entry, target.fault);
    else if (target.kind === 'range') addresses.add(target.range);
    else if (target.kind === 'name') names.add(target.name);
    else {
      const host = canonical(target.pinned);
      pinned.set(`${host.host} ${host.port}`, host);
    }
  }
  const excluded = readExclusions(options.exclude ?? [], faults);
  faults.throwIfAny();
  const keeps = (host: string): boolean => !isExcluded(host, excluded);
  const parts: TargetParts = {
    addresses: addresses.build().without(excluded.addresses),
    names: [...names].filter(keeps),
    pinned: [...pinned.values()].filter(({ host }) => keeps(host)),
  };
  const list = new TargetList(parts, excluded);
  if (list.count > TARGETS_MAX) throw tooMany(list.count);
  return list;
}

/** An immutable list of targets: ranges, names, and hosts with ports. */
export class TargetList implements TargetSet {
  readonly addresses: AddressSet;
  readonly names: readonly string[];
  readonly pinnedHosts: readonly PinnedHost[];
  /** The number of hosts. */
  readonly count: bigint;
  readonly size: number;
  readonly #nameSet: ReadonlySet<string>;
  readonly #excluded: Exclusions;
  readonly #v4Count: number;
  readonly #addressCount: number;
  readonly #plainCount: number;

  constructor({ addresses, names, pinned }: TargetParts, excluded: Exclusions) {
    this.addresses = addresses;
    this.names = names;
    this.pinnedHosts = pinned;
    this.#nameSet = new Set(names);
    this.#excluded = excluded;
    this.count = addresses.count + BigInt(names.length + pinned.length);
    this.size = Number(this.count);
    this.#v4Count = Number(addresses.v4.count);
    this.#addressCount = Number(addresses.count);
    this.#plainCount = this.#addressCount + names.length;
  }

  get pinned(): number {
    return this.pinnedHosts.length;
  }

  at(index: number): TargetHost {
    if (index < this.#v4Count) {
      const ip = formatIpv4(this.addresses.v4.at(index));
      return { host: ip, ip, port: null };
    }
    if (index < this.#addressCount) {
      const ip = formatIpv6(this.addresses.v6.at(index - this.#v4Count));
      return { host: ip, ip, port: null };
    }
    if (index < this.#plainCount) return { host: this.names[index - this.#addressCount]!, ip: null, port: null };
    return this.pinnedHosts[index - this.#plainCount]!;
  }

  hasHost(host: string): boolean {
    return this.#nameSet.has(host) || this.addresses.hasText(host);
  }

  excludes(ip: string): boolean {
    return this.#excluded.addresses.hasText(ip);
  }

  /**
   * Applies a scope. Addresses are cut as ranges, so that a scope that allows little of a /8 costs nothing; addresses
   * of names are only known, and checked, after resolution.
   *
   * @returns `refused`: what was removed, at most 1,000 entries; `refusedHosts`: the number of hosts
   */
  within(scope: Scope): { targets: TargetList; refused: Refusal[]; refusedHosts: bigint } {
    const refused: Refusal[] = [];
    const refuse = (refusal: Refusal): void => {
      if (refused.length < REFUSALS_MAX) refused.push(refusal);
    };
    const addresses = scope.addresses === undefined ? this.addresses : this.addresses.intersect(scope.addresses);
    for (const range of this.addresses.without(addresses).ranges) {
      const first = formatAddress({ family: range.family, value: range.first } as Parameters<typeof formatAddress>[0]);
      const verdict = scope.check(first, null);
      if (!verdict.allowed) {
        refuse({ target: rangeText(range), hosts: rangeSize(range), reason: verdict.reason });
      }
    }
    const allows = (host: string, ip: string | null): boolean => {
      const verdict = ip === null ? scope.checkName(host) : scope.check(ip, null);
      if (!verdict.allowed) refuse({ target: host, hosts: 1n, reason: verdict.reason });
      return verdict.allowed;
    };
    const names = this.names.filter((name) => allows(name, null));
    const pinned = this.pinnedHosts.filter(({ host, ip }) => allows(host, ip));
    const targets = new TargetList({ addresses, names, pinned }, this.#excluded);
    return { targets, refused, refusedHosts: this.count - targets.count };
  }
}

function readExclusions(texts: Iterable<string | LocatedText>, faults: Faults): Exclusions {
  const ranges: AddressRange[] = [];
  const names = new Set<string>();
  const domains: string[] = [];
  for (const entry of placed(texts, 'exclude')) {
    if (entry.text.startsWith('*.')) {
      const verdict = normalizeName(entry.text.slice(2));
      if (verdict.ok) domains.push(verdict.name);
      else faults.add(entry, verdict.fault);
      continue;
    }
    const target = readTarget(entry.text);
    if (target.kind === 'fault') faults.add(entry, target.fault);
    else if (target.kind === 'range') ranges.push(target.range);
    else if (target.kind === 'name') names.add(target.name);
    else faults.add(entry, 'names a port; exclude the whole host, or exclude the port with !PORT in the list of ports');
  }
  return { addresses: AddressSet.of(ranges), names, domains };
}

function isExcluded(host: string, { addresses, names, domains }: Exclusions): boolean {
  return (
    names.has(host) ||
    domains.some((domain) => host !== domain && isWithin(host, domain)) ||
    (addresses.count > 0n && addresses.hasText(host))
  );
}

/** Unifies spellings: the same address spelled twice is one host. */
function canonical(pinned: PinnedHost): PinnedHost {
  const address = pinned.ip === null ? null : parseAddress(pinned.ip);
  if (address === null) return pinned;
  const ip = formatAddress(address);
  return { host: ip, ip, port: pinned.port };
}

function tooMany(count: bigint): HeddleError {
  const text = String(count).replace(/\B(?=(\d{3})+$)/g, ',');
  return new HeddleError(
    'VALIDATION_FAILED',
    `the targets are ${text} hosts, and at most 2^53 can be counted; name smaller networks (of IPv6: /75 or longer)`,
  );
}
