import type { AddressSet } from './address-set.ts';

/**
 * What probes are aimed at. Sets are described, never written out: a /8 costs as much memory as one address.
 */

/** One host of a set. */
export interface TargetHost {
  /** As it was named: a name, or its address. */
  readonly host: string;
  /** Null for a name that is not resolved yet. */
  readonly ip: string | null;
  /** The port that the target itself named (`host:port`); null: the ports of the scan. */
  readonly port: number | null;
}

/**
 * Hosts by number: addresses in ascending order, then names, then those that name their own port. Each stands once,
 * exclusions are gone.
 */
export interface TargetSet {
  readonly size: number;
  /** How many of them, at the end, name their own port. */
  readonly pinned: number;
  /** All addresses without ports of their own, where they are known as ranges. */
  readonly addresses?: AddressSet;
  at(index: number): TargetHost;
  /** Whether the host (a name or an address) stands in it without a port of its own. */
  hasHost(host: string): boolean;
  /** Whether an address was excluded: holds for what names resolve to. */
  excludes(ip: string): boolean;
}

/** One thing to probe. */
export interface Endpoint {
  readonly host: string;
  readonly ip: string;
  readonly family: 4 | 6;
  readonly port: number;
}

/**
 * Endpoints in an order that visits no network one after the other, the same for the same seed. Names are resolved and
 * the scope is checked on the way, so it is asynchronous by the batch.
 */
export interface EndpointSource {
  /**
   * How many there are at most, names counted once: those that do not resolve, and addresses out of scope, fall out; those that
   * are taken at all of their addresses come as often as they have any.
   */
  readonly size: number;
  /** The next ones, `max` at most; an empty batch is the end. Never called again before it has resolved. */
  next(max: number, signal: AbortSignal): Promise<readonly Endpoint[]>;
}

/** What a scope says of a host; a refusal says why, and what to do. */
export type ScopeVerdict = { allowed: true } | { allowed: false; reason: string };

export interface Scope {
  /** All addresses that it allows by address, where they are known as ranges. */
  readonly addresses?: AddressSet;
  /** Whether an address may be probed; `name`: by which name it was found. */
  check(ip: string, name: string | null): ScopeVerdict;
  /** Whether a name may be looked up and followed. */
  checkName(name: string): ScopeVerdict;
}

/** Token buckets: one for everything, one for each host. Never waits itself. */
export interface Pace {
  /** Takes one packet to a host: 0 where it was there, else how many ms until it is worth asking again. */
  take(host: string): number;
  /** How many packets may leave now in all, whatever the host; at most `max`. */
  available(max: number): number;
  /**
   * What came back of those that answered before: too much loss lowers the rate, at most to its floor; without, it rises to the
   * limit again. An answer to a packet that was counted as lost is told without one that was sent.
   */
  observe(sent: number, answered: number): void;
  /** Packets a second now. Infinity where nothing limits. */
  readonly rate: number;
}
