import { HeddleError } from '@heddle/base/errors';
import { eventLoopTurn } from '@heddle/base/turn';
import { NameResolutions, type ResolveTargetName } from './name-resolutions.ts';
import { Permutation } from './permutation.ts';
import type { Endpoint, EndpointSource, Scope, TargetHost, TargetSet } from './port.ts';

/** A run of positions. */
export interface Slice {
  readonly from: number;
  readonly count: number;
}

export interface EndpointOptions {
  readonly targets: TargetSet;
  /** For hosts that do not name their own. Each once. */
  readonly ports: readonly number[];
  readonly seed: number;
  /** Slice of the hosts in their random order; all by default. Disjoint slices of one seed share no host. */
  readonly slice?: Slice;
  /** Slice of the ports; hosts that name their own port belong to the first one. */
  readonly port_slice?: Slice;
  readonly scope: Scope;
  /** Required if targets are names. */
  readonly resolve?: ResolveTargetName;
  /** Uses each allowed address of a name, at most 16; otherwise the first of them. */
  readonly allAddresses?: boolean;
  /** Called once for each host that the scope does not allow. */
  readonly onRefused?: (host: string, reason: string) => void;
  /** Called once for each name without an address. */
  readonly onUnresolved?: (name: string, reason: string) => void;
}

/** Indexes are numbers. */
const ENDPOINTS_MAX = 2 ** 53;
/** Positions tried between two turns of the event loop if all of them are skipped. */
const TRIES_PER_TURN = 65_536;

/**
 * Returns the endpoints of targets and ports in a random order that depends only on the seed and is not stored: a /8
 * with all ports needs as much memory as one address. Each endpoint is in exactly one slice.
 *
 * @throws HeddleError VALIDATION_FAILED for more than 2^53 endpoints
 */
export function endpoints(options: EndpointOptions): EndpointSource {
  return new PermutedEndpoints(options);
}

const NONE: readonly Endpoint[] = [];

/** Separates the orders of one seed. */
const PURPOSE = { hosts: 1, pinned: 2, endpoints: 3 } as const;

class PermutedEndpoints implements EndpointSource {
  readonly size: number;
  readonly #options: EndpointOptions;
  /** Needed only for hosts with a port of their own. */
  readonly #allPorts: ReadonlySet<number>;
  readonly #hosts: Permutation;
  readonly #pinned: Permutation;
  readonly #order: Permutation;
  /** Hosts without a port of their own in this slice. */
  readonly #plain: Slice;
  readonly #ownPort: Slice;
  readonly #ports: Slice;
  readonly #names: NameResolutions;
  /** Whether the scope allows all addresses, so that individual checks are unnecessary. */
  readonly #allAllowed: boolean;
  #position = 0;
  /** The host of the last position, which of few hosts is often that of the next one. */
  #last: { index: number; host: TargetHost } | null = null;
  /** Further addresses of names that did not fit the last batch. */
  #left: Endpoint[] = [];

  constructor(options: EndpointOptions) {
    const { targets, ports, seed } = options;
    const plainAll = targets.size - targets.pinned;
    const slice = within(options.slice, targets.size, 'slice');
    const end = slice.from + slice.count;
    this.#options = options;
    this.#allPorts = new Set(targets.pinned > 0 ? ports : []);
    this.#ports = within(options.port_slice, ports.length, 'port_slice');
    this.#plain = overlap(slice.from, end, 0, plainAll);
    const own = overlap(slice.from, end, plainAll, targets.size);
    this.#ownPort = { from: own.from - plainAll, count: this.#ports.from === 0 ? own.count : 0 };
    this.size = this.#plain.count * this.#ports.count + this.#ownPort.count;
    if (this.size > ENDPOINTS_MAX) throw tooMany(this.#plain.count, this.#ports.count);
    this.#hosts = new Permutation(plainAll, seed, PURPOSE.hosts);
    this.#pinned = new Permutation(targets.pinned, seed, PURPOSE.pinned);
    this.#order = new Permutation(this.size, seed + slice.from, PURPOSE.endpoints);
    this.#names = new NameResolutions(options);
    this.#allAllowed = allAllowed(options);
  }

  async next(max: number, signal: AbortSignal): Promise<readonly Endpoint[]> {
    const batch: Endpoint[] = this.#left.splice(0, max);
    while (batch.length < max && this.#position < this.size && !signal.aborted) {
      const until = Math.min(this.size, this.#position + TRIES_PER_TURN);
      const unresolved: { host: string; port: number; at: number }[] = [];
      // Positions of names being resolved are kept, so that the order depends only on the seed.
      const found: (Endpoint | readonly Endpoint[])[] = [];
      while (batch.length + found.length < max && this.#position < until) {
        const target = this.#target(this.#position);
        this.#position += 1;
        if (target === null) continue;
        const { host, ip, port } = target;
        if (ip !== null) {
          if (this.#allAllowed || this.#allows(host, ip)) found.push({ host, ip, family: familyOf(ip), port: port! });
          continue;
        }
        unresolved.push({ host, port: port!, at: found.length });
        found.push(NONE);
      }
      if (unresolved.length > 0) await this.#resolveInto(found, unresolved, signal);
      for (const each of found) {
        if ('ip' in each) batch.push(each);
        else batch.push(...each);
      }
      if (batch.length === 0) await eventLoopTurn();
    }
    if (signal.aborted) return [];
    this.#left.push(...batch.splice(max));
    return batch;
  }

  /** Returns the endpoint at a position; null if it is already at another one. */
  #target(position: number): TargetHost | null {
    const { targets, ports } = this.#options;
    const place = this.#order.at(position);
    const plainEnd = this.#plain.count * this.#ports.count;
    if (place >= plainEnd) {
      const own = this.#pinned.at(this.#ownPort.from + place - plainEnd);
      const target = targets.at(targets.size - targets.pinned + own);
      // The same host without a port, at a port of the scan.
      return this.#allPorts.has(target.port!) && targets.hasHost(target.host) ? null : target;
    }
    const portIndex = Math.floor(place / this.#plain.count);
    const hostIndex = this.#plain.from + place - portIndex * this.#plain.count;
    if (this.#last?.index !== hostIndex) this.#last = { index: hostIndex, host: targets.at(this.#hosts.at(hostIndex)) };
    const { host, ip } = this.#last.host;
    return { host, ip, port: ports[this.#ports.from + portIndex]! };
  }

  #allows(host: string, ip: string): boolean {
    const verdict = this.#options.scope.check(ip, null);
    if (!verdict.allowed) this.#names.refused(host, verdict.reason);
    return verdict.allowed;
  }

  async #resolveInto(
    found: (Endpoint | readonly Endpoint[])[],
    unresolved: readonly { host: string; port: number; at: number }[],
    signal: AbortSignal,
  ): Promise<void> {
    await this.#names.resolve(new Set(unresolved.map(({ host }) => host)), signal);
    for (const { host, port, at } of unresolved) {
      found[at] = this.#names.addressesOf(host).map((ip) => ({ host, ip, family: familyOf(ip), port }));
    }
  }
}

/** Returns whether the scope allows every address of the targets, judging by ranges. */
function allAllowed({ targets, scope }: EndpointOptions): boolean {
  if (targets.pinned > 0 || targets.addresses === undefined || scope.addresses === undefined) return false;
  return targets.addresses.without(scope.addresses).count === 0n;
}

function familyOf(ip: string): 4 | 6 {
  return ip.includes(':') ? 6 : 4;
}

/** @throws RangeError if a slice exceeds its whole: a defect of the caller, whose parts would not add up */
function within(slice: Slice | undefined, size: number, name: string): Slice {
  if (slice === undefined) return { from: 0, count: size };
  const { from, count } = slice;
  if (Number.isSafeInteger(from) && Number.isSafeInteger(count) && from >= 0 && count >= 0 && from + count <= size) {
    return slice;
  }
  throw new RangeError(`${name} { from: ${from}, count: ${count} } is not within ${size}`);
}

function overlap(from: number, end: number, first: number, last: number): Slice {
  const start = Math.max(from, first);
  return { from: start, count: Math.max(0, Math.min(end, last) - start) };
}

function tooMany(hosts: number, ports: number): HeddleError {
  const text = String(BigInt(hosts) * BigInt(ports)).replace(/\B(?=(\d{3})+$)/g, ',');
  return new HeddleError(
    'VALIDATION_FAILED',
    `${text} endpoints are more than the 2^53 that can be counted; name smaller networks, or fewer ports`,
  );
}
