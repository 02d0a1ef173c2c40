import { messageOf } from '@heddle/base/thrown';
import type { Scope, TargetSet } from './port.ts';

/** Resolves a name to its addresses, IPv4 first; empty if it has none. Throws if no resolver answers. */
export type ResolveTargetName = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

export interface NameResolutionOptions {
  readonly targets: TargetSet;
  readonly scope: Scope;
  readonly resolve?: ResolveTargetName;
  /** Uses every allowed address, at most 16, instead of the first. */
  readonly allAddresses?: boolean;
  readonly onRefused?: (host: string, reason: string) => void;
  readonly onUnresolved?: (name: string, reason: string) => void;
}

const LOOKUPS_AT_ONCE = 64;
/** Hosts already reported as refused, so that a host with many ports is reported once. */
const REPORTED_MAX = 10_000;
/** Maximum addresses of one name: the owner of its zone controls how many there are. */
export const ADDRESSES_MAX = 16;
const NONE: readonly string[] = [];

/**
 * Resolves each name to its addresses that are in scope and not excluded: the first, or all. Each name is resolved
 * once, so that all its ports are probed at the address that was checked.
 */
export class NameResolutions {
  readonly #options: NameResolutionOptions;
  readonly #addresses = new Map<string, readonly string[]>();
  readonly #reported = new Set<string>();

  constructor(options: NameResolutionOptions) {
    this.#options = options;
  }

  addressesOf(name: string): readonly string[] {
    return this.#addresses.get(name) ?? NONE;
  }

  /** Reports once that the scope does not allow a host. */
  refused(host: string, reason: string): void {
    if (this.#reported.has(host) || this.#reported.size >= REPORTED_MAX) return;
    this.#reported.add(host);
    this.#options.onRefused?.(host, reason);
  }

  /** Resolves the names that were not resolved before. */
  async resolve(names: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const waiting = [...names].filter((name) => !this.#addresses.has(name));
    const lookUp = async (): Promise<void> => {
      for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
        if (signal.aborted) return;
        this.#addresses.set(name, await this.#lookUp(name, signal));
      }
    };
    await Promise.all(Array.from({ length: Math.min(LOOKUPS_AT_ONCE, waiting.length) }, lookUp));
  }

  async #lookUp(name: string, signal: AbortSignal): Promise<readonly string[]> {
    const { scope, resolve, onUnresolved } = this.#options;
    const verdict = scope.checkName(name);
    if (!verdict.allowed) {
      this.refused(name, verdict.reason);
      return NONE;
    }
    if (resolve === undefined) throw new Error(`endpoints of names need a resolver to look up ${name}`);
    let addresses: readonly string[];
    try {
      addresses = await resolve(name, signal);
    } catch (error) {
      const reason = messageOf(error);
      if (!signal.aborted) onUnresolved?.(name, `could not be looked up: ${reason}`);
      return NONE;
    }
    const { allowed, reason } = this.#allowed(name, addresses);
    if (allowed.length > 0) return allowed;
    if (reason !== null) this.refused(name, reason);
    else onUnresolved?.(name, addresses.length === 0 ? 'has no address' : 'all of its addresses are excluded');
    return NONE;
  }

  /** Returns the addresses to probe, and why the first of the others is refused. */
  #allowed(name: string, addresses: readonly string[]): { allowed: string[]; reason: string | null } {
    const { scope, targets, allAddresses } = this.#options;
    const max = allAddresses === true ? ADDRESSES_MAX : 1;
    const allowed: string[] = [];
    let reason: string | null = null;
    for (const ip of addresses) {
      if (allowed.length === max) break;
      if (targets.excludes(ip)) continue;
      const verdict = scope.check(ip, name);
      if (verdict.allowed) allowed.push(ip);
      else reason ??= `${name} resolves to ${ip}: ${verdict.reason}`;
    }
    return { allowed, reason };
  }
}
