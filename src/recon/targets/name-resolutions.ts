import type { Scope, TargetSet } from './port.ts';

/** Looks a name up: its addresses, IPv4 first; none where it has none. Throws where nobody answers. */
export type ResolveTargetName = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

export interface NameResolutionOptions {
  readonly targets: TargetSet;
  readonly scope: Scope;
  readonly resolve?: ResolveTargetName;
  readonly onRefused?: (host: string, reason: string) => void;
  readonly onUnresolved?: (name: string, reason: string) => void;
}

const LOOKUPS_AT_ONCE = 64;
/** Hosts whose refusal was told, so that one host with many ports is told of once. */
const TOLD_MAX = 10_000;

/**
 * The address of each name: the first one that the scope allows and nobody excluded. Looked up once, so that all ports of a
 * name are probed at the same address.
 */
export class NameResolutions {
  readonly #options: NameResolutionOptions;
  /** Null where there is none. */
  readonly #addresses = new Map<string, string | null>();
  readonly #told = new Set<string>();

  constructor(options: NameResolutionOptions) {
    this.#options = options;
  }

  addressOf(name: string): string | null {
    return this.#addresses.get(name) ?? null;
  }

  /** Tells once that the scope does not allow a host. */
  refused(host: string, reason: string): void {
    if (this.#told.has(host) || this.#told.size >= TOLD_MAX) return;
    this.#told.add(host);
    this.#options.onRefused?.(host, reason);
  }

  /** Looks up those names that were not before. */
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

  async #lookUp(name: string, signal: AbortSignal): Promise<string | null> {
    const { scope, resolve, targets, onUnresolved } = this.#options;
    const verdict = scope.checkName(name);
    if (!verdict.allowed) {
      this.refused(name, verdict.reason);
      return null;
    }
    if (resolve === undefined) throw new Error(`endpoints of names need a way to look ${name} up`);
    let addresses: readonly string[];
    try {
      addresses = await resolve(name, signal);
    } catch (error) {
      if (!signal.aborted) onUnresolved?.(name, error instanceof Error ? error.message : String(error));
      return null;
    }
    let reason: string | null = null;
    for (const ip of addresses) {
      if (targets.excludes(ip)) continue;
      const verdict = scope.check(ip, name);
      if (verdict.allowed) return ip;
      reason ??= `${name} resolves to ${ip}: ${verdict.reason}`;
    }
    if (reason !== null) this.refused(name, reason);
    else onUnresolved?.(name, addresses.length === 0 ? 'has no address' : 'all of its addresses are excluded');
    return null;
  }
}
