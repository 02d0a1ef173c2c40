import { createHash } from 'node:crypto';

import type { Clock } from '@heddle/base/clock';
import { Coalescer } from '@heddle/base/coalescer';

/** A revoked credential stops working within this time. */
const CACHE_MS = 2000;
const KNOWN_MAX = 10_000;
/** Strangers may not displace what is known. */
const UNKNOWN_MAX = 1_000;
const LOOKUPS_PER_SET = 1_000;
const LOOKUPS_WAITING_MAX = 10_000;

interface Entry<Credential> {
  credential: Credential | null;
  readAt: number;
  touchedAt: number;
}

export interface CredentialCacheOptions<Credential> {
  clock: Clock;
  /** Returns those that exist, in any order. */
  lookUp(hashes: readonly Uint8Array[]): Promise<readonly Credential[]>;
  hashOf(credential: Credential): Uint8Array;
  isLive(credential: Credential): boolean;
  touchIntervalMs: number;
}

/**
 * Finds credentials by the hash of their secret, with a cache short enough for a revocation to take effect within
 * seconds. Lookups share statements, one at a time: any number of unknown secrets keeps one connection busy.
 */
export class CredentialCache<Credential> {
  readonly #options: CredentialCacheOptions<Credential>;
  readonly #known = new Map<string, Entry<Credential>>();
  readonly #unknown = new Map<string, Entry<Credential>>();
  readonly #lookups: Coalescer<Buffer, { found: Credential | null }>;

  constructor(options: CredentialCacheOptions<Credential>) {
    this.#options = options;
    this.#lookups = new Coalescer({
      flush: (hashes) => this.#lookUp(hashes),
      maxItems: LOOKUPS_PER_SET,
      maxWaiting: LOOKUPS_WAITING_MAX,
    });
  }

  /**
   * Returns the live credential with this secret; null if it is unknown, has ended or was revoked.
   * @param touch records its use, which is informational: a request does not wait for it or fail because of it
   */
  async find(secret: string, touch: (credential: Credential) => Promise<void>): Promise<Credential | null> {
    const hash = createHash('sha256').update(secret).digest();
    const key = keyOf(hash);
    const now = this.#options.clock.monotonic();
    let entry = this.#known.get(key) ?? this.#unknown.get(key);
    if (entry === undefined || now - entry.readAt >= CACHE_MS) {
      const { found } = await this.#lookups.add(hash);
      entry = { credential: found, readAt: now, touchedAt: entry?.touchedAt ?? -Infinity };
      this.#remember(key, entry);
    }
    const { credential } = entry;
    if (credential === null || !this.#options.isLive(credential)) return null;
    if (now - entry.touchedAt >= this.#options.touchIntervalMs) {
      entry.touchedAt = now;
      touch(credential).catch(() => undefined);
    }
    return credential;
  }

  /** Makes the next `find` read it again. */
  forget(credential: Credential): void {
    this.#known.delete(keyOf(this.#options.hashOf(credential)));
  }

  async #lookUp(hashes: readonly Buffer[]): Promise<{ found: Credential | null }[]> {
    const options = this.#options;
    const found = new Map((await options.lookUp(hashes)).map((each) => [keyOf(options.hashOf(each)), each]));
    return hashes.map((hash) => ({ found: found.get(keyOf(hash)) ?? null }));
  }

  #remember(key: string, entry: Entry<Credential>): void {
    this.#known.delete(key);
    this.#unknown.delete(key);
    const [entries, max] = entry.credential === null ? [this.#unknown, UNKNOWN_MAX] : [this.#known, KNOWN_MAX];
    entries.set(key, entry);
    if (entries.size > max) entries.delete(entries.keys().next().value!);
  }
}

function keyOf(hash: Uint8Array): string {
  return Buffer.from(hash).toString('base64');
}
