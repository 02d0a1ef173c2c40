import { lookup } from 'node:dns/promises';

import { HeddleError } from '@heddle/base/errors';
import type { Clock } from '@heddle/base/clock';
import type { Random } from '@heddle/base/random';
import { Exchange } from './dns/exchange.ts';
import { isLocalName, LOOPBACK } from './dns/local-names.ts';
import { addressFamily, normalizeName } from './dns/names.ts';
import type { Outcome } from './dns/slots.ts';
import { RECON_DEFAULTS } from './options.ts';
import type { Pace } from './targets/port.ts';

export interface ResolveOptions {
  /** `ip` or `ip:port`; empty: the system's, including its hosts file. */
  readonly resolvers: readonly string[];
  readonly timeoutMs: number;
  readonly retries?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Absent if queries are few enough not to be limited. */
  readonly pace?: Pace;
}

/** Resolves names until it is closed, with one set of sockets for all of them. */
export interface NameResolver {
  /**
   * Returns the addresses of a name, IPv4 before IPv6; empty if it has none. An address resolves to itself.
   *
   * @throws HeddleError VALIDATION_FAILED for an invalid name; Error if no resolver answered; the signal's reason when
   * it aborts
   */
  resolve(name: string): Promise<string[]>;
  close(): void;
}

const UNLIMITED: Pace = { take: () => 0, available: (max) => max, observe: () => undefined, rate: Infinity };
/** The system's codes for names without addresses; any other code leaves that open. */
const HAS_NONE: readonly unknown[] = ['ENOTFOUND', 'ENODATA'];

/** Resolves one name; see {@link openResolver} for many. */
export async function resolveName(name: string, options: ResolveOptions): Promise<string[]> {
  const resolver = openResolver(options);
  try {
    return await resolver.resolve(name);
  } finally {
    resolver.close();
  }
}

/** @throws HeddleError VALIDATION_FAILED for invalid resolvers */
export function openResolver(options: ResolveOptions): NameResolver {
  const asked = options.resolvers.length === 0 ? new SystemResolver(options) : new OwnResolver(options);
  return {
    async resolve(text) {
      options.signal.throwIfAborted();
      if (addressFamily(text) !== 0) return [text];
      const verdict = normalizeName(text);
      if (!verdict.ok) {
        throw new HeddleError('VALIDATION_FAILED', `'${text}' is not a name: ${verdict.reason}`);
      }
      const { name } = verdict;
      // RFC 6761: these never leave the machine.
      if (isLocalName(name)) return [...LOOPBACK];
      return asked.resolve(name);
    },
    close: () => asked.close(),
  };
}

/** Resolves as the machine itself does: its hosts file, then its resolvers. */
class SystemResolver implements NameResolver {
  readonly #options: ResolveOptions;
  readonly #closing = new AbortController();

  constructor(options: ResolveOptions) {
    this.#options = options;
  }

  async resolve(name: string): Promise<string[]> {
    const { clock, timeoutMs, signal } = this.#options;
    const ended = AbortSignal.any([signal, this.#closing.signal]);
    const over = new AbortController();
    const late = clock.sleep(timeoutMs, AbortSignal.any([ended, over.signal])).then(() => null);
    const found = lookup(name, { all: true, order: 'ipv4first' }).then(
      (addresses) => addresses.map(({ address }) => address),
      (error: unknown) => (HAS_NONE.includes((error as { code?: unknown }).code) ? [] : null),
    );
    const addresses = await Promise.race([found, late]);
    over.abort();
    signal.throwIfAborted();
    if (addresses === null) throw unanswered(name);
    return [...new Set(addresses)];
  }

  close(): void {
    this.#closing.abort();
  }
}

/** Returns whether the absence of addresses is certain: both answers say so, or one that the name does not exist. */
function isSettled(statuses: readonly string[]): boolean {
  return statuses.includes('NXDOMAIN') || statuses.every((status) => status === 'NOERROR');
}

function unanswered(name: string): Error {
  return new Error(`no resolver answered for ${name}`);
}

interface Waiting {
  resolve: (addresses: string[]) => void;
  reject: (reason: unknown) => void;
}

class OwnResolver implements NameResolver {
  readonly #signal: AbortSignal;
  readonly #exchange: Exchange;
  readonly #line: { name: string; type: 'A' | 'AAAA'; settle: (outcome: Outcome) => void }[] = [];
  readonly #waiting = new Set<Waiting>();
  readonly #started: Promise<void>;
  #lineAt = 0;
  #ended: { reason: unknown } | null = null;

  constructor({ resolvers, retries, timeoutMs, clock, random, pace, signal }: ResolveOptions) {
    const options = {
      resolvers,
      timeoutMs,
      retries: retries ?? RECON_DEFAULTS.retries,
      inFlight: RECON_DEFAULTS.dnsInFlight,
    };
    this.#signal = signal;
    this.#exchange = new Exchange(options, { clock, random, pace: pace ?? UNLIMITED }, () => this.#feed());
    this.#started = this.#exchange.start();
    this.#started.catch(() => undefined);
    signal.addEventListener('abort', this.#onAbort);
  }

  async resolve(name: string): Promise<string[]> {
    await this.#started;
    if (this.#ended !== null) throw this.#ended.reason;
    const both = await new Promise<string[]>((resolve, reject) => {
      const waiting = { resolve, reject };
      const found: { A: readonly string[] | null; AAAA: readonly string[] | null } = { A: null, AAAA: null };
      this.#waiting.add(waiting);
      const statuses: string[] = [];
      const settle = ({ type, status, answers }: Outcome): void => {
        if (type === 'A') found.A = answers.a ?? [];
        else found.AAAA = answers.aaaa ?? [];
        statuses.push(status);
        if (found.A === null || found.AAAA === null) return;
        this.#waiting.delete(waiting);
        const addresses = [...found.A, ...found.AAAA];
        if (addresses.length > 0 || isSettled(statuses)) resolve(addresses);
        else reject(unanswered(name));
      };
      this.#line.push({ name, type: 'A', settle }, { name, type: 'AAAA', settle });
      this.#exchange.wake();
    });
    return [...new Set(both)];
  }

  close(): void {
    this.#end(new HeddleError('SHUTTING_DOWN', 'The resolver was closed'));
  }

  readonly #onAbort = (): void => this.#end(this.#signal.reason);

  #end(reason: unknown): void {
    this.#ended ??= { reason };
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#exchange.close();
    for (const { reject } of this.#waiting) reject(reason);
    this.#waiting.clear();
  }

  #feed(): boolean {
    const next = this.#line[this.#lineAt];
    if (next === undefined) {
      this.#line.length = 0;
      this.#lineAt = 0;
      return false;
    }
    this.#lineAt += 1;
    this.#exchange.ask(next.name, next.type, next.settle);
    return true;
  }
}
