import type { AddressSet } from './address-set.ts';

/** The targets of probes. Sets are described, not enumerated: a /8 needs as much memory as one address. */

/** One host of a set. */
export interface TargetHost {
  /** As given: a name or its address. */
  readonly host: string;
  /** Null for an unresolved name. */
  readonly ip: string | null;
  /** The target's own port (`host:port`); null: the ports of the scan. */
  readonly port: number | null;
}

/**
 * Hosts by number: addresses in ascending order, then names, then hosts with their own port. Without duplicates and
 * exclusions.
 */
export interface TargetSet {
  readonly size: number;
  /** How many of them, at the end, have their own port. */
  readonly pinned: number;
  /** All addresses without their own ports, if known as ranges. */
  readonly addresses?: AddressSet;
  at(index: number): TargetHost;
  /** Returns whether the host (a name or an address) is included without its own port. */
  hasHost(host: string): boolean;
  /** Returns whether an address is excluded, which also applies to resolved names. */
  excludes(ip: string): boolean;
}

/** One endpoint to probe. */
export interface Endpoint {
  readonly host: string;
  readonly ip: string;
  readonly family: 4 | 6;
  readonly port: number;
}

/**
 * Endpoints in an order that scatters over the networks, the same for the same seed. Names are resolved and the scope
 * is checked along the way, so batches are asynchronous.
 */
export interface EndpointSource {
  /**
   * Upper bound of the number of endpoints, counting names once: unresolvable names and addresses out of scope are
   * skipped; names probed at all addresses occur once per address.
   */
  readonly size: number;
  /** Returns the next endpoints, at most `max`; an empty batch is the end. Calls must not overlap. */
  next(max: number, signal: AbortSignal): Promise<readonly Endpoint[]>;
}

/** The decision of a scope; a refusal contains reason and remedy. */
export type ScopeVerdict = { allowed: true } | { allowed: false; reason: string };

export interface Scope {
  /** All addresses that it allows by address, if known as ranges. */
  readonly addresses?: AddressSet;
  /** Checks whether an address may be probed; `name`: the name that resolved to it. */
  check(ip: string, name: string | null): ScopeVerdict;
  /** Checks whether a name may be resolved and followed. */
  checkName(name: string): ScopeVerdict;
}

/** Token buckets: a global one and one per host. Never waits itself. */
export interface Pace {
  /** Takes one packet for a host: returns 0 if granted, else the milliseconds until a retry is worthwhile. */
  take(host: string): number;
  /** Returns how many packets may be sent now in total; at most `max`. */
  available(max: number): number;
  /**
   * Records the answers of hosts that answered before: excessive loss lowers the rate to its floor at most; without
   * loss it rises to the limit again. An answer to a packet that was counted as lost is recorded without a sent one.
   */
  observe(sent: number, answered: number): void;
  /** Current packets per second; Infinity without a limit. */
  readonly rate: number;
}
