import type { Clock } from '@heddle/base/clock';
import { newId, type Random } from '@heddle/base/random';
import type { Database, Queryable, Statement } from './database.ts';

/** What a key signs: outgoing webhooks, or the report handles of webhook targets. */
export type SecretPurpose = 'webhook' | 'handle';

export interface Secret {
  id: string;
  purpose: SecretPurpose;
  key: Uint8Array;
  created_at: number;
  /** When it stops signing and verifying; null: not retired. Milliseconds since the epoch. */
  retired_at: number | null;
}

const LOCK_PURPOSE: Statement = {
  name: 'secrets.lock',
  text: `select pg_advisory_xact_lock(hashtextextended('heddle.secret.' || $1, 0))`,
};

const LIST_SECRETS: Statement = {
  name: 'secrets.list',
  text: `select id, purpose, key, created_at, retired_at from secret
    where purpose = $1 and (retired_at is null or retired_at > $2) order by created_at desc, id desc`,
};

const INSERT_SECRET: Statement = {
  name: 'secrets.insert',
  text: `insert into secret (id, purpose, key, created_at) values ($1, $2, $3, $4)`,
};

const RETIRE_OTHERS: Statement = {
  name: 'secrets.retire_others',
  text: `update secret set retired_at = $3 where purpose = $1 and id <> $2 and retired_at is null`,
};

const KEY_BYTES = 32;
/** Time within which every process sees a rotation. */
const CACHE_MS = 5000;

interface CachedKeys {
  keys: readonly Uint8Array[];
  readAt: number;
}

export interface SecretStoreOptions {
  database: Database;
  clock: Clock;
  random: Random;
}

/** Signing keys. The first key of a purpose is created on first use; several processes agree on one. */
export class SecretStore {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #cache = new Map<SecretPurpose, CachedKeys>();

  constructor({ database, clock, random }: SecretStoreOptions) {
    this.#database = database;
    this.#clock = clock;
    this.#random = random;
  }

  /** Returns the active keys, the signing key first. */
  async keys(purpose: SecretPurpose): Promise<readonly Uint8Array[]> {
    const now = this.#clock.monotonic();
    const cached = this.#cache.get(purpose);
    if (cached && now - cached.readAt < CACHE_MS) return cached.keys;
    const found = await this.#active(this.#database, purpose);
    const keys = found.length > 0 ? found.map(({ key }) => key) : [await this.#ensure(purpose)];
    this.#cache.set(purpose, { keys, readAt: now });
    return keys;
  }

  /**
   * Creates a new signing key; the others continue to verify for `overlapMs`.
   *
   * @param key a configured key; a random one if absent
   */
  async rotate(purpose: SecretPurpose, overlapMs: number, key?: Uint8Array): Promise<Uint8Array> {
    const fresh = key ?? this.#random.bytes(KEY_BYTES);
    await this.#database.transaction(async (tx) => {
      await tx.query(LOCK_PURPOSE, [purpose]);
      const id = await this.#insert(tx, purpose, fresh);
      await tx.query(RETIRE_OTHERS, [purpose, id, this.#timestamp(overlapMs)]);
    });
    this.#cache.delete(purpose);
    return fresh;
  }

  #active(database: Queryable, purpose: SecretPurpose): Promise<Secret[]> {
    return database.query<Secret>(LIST_SECRETS, [purpose, this.#timestamp(0)]);
  }

  #ensure(purpose: SecretPurpose): Promise<Uint8Array> {
    return this.#database.transaction(async (tx) => {
      await tx.query(LOCK_PURPOSE, [purpose]);
      const [existing] = await this.#active(tx, purpose);
      if (existing) return existing.key;
      const key = this.#random.bytes(KEY_BYTES);
      await this.#insert(tx, purpose, key);
      return key;
    });
  }

  async #insert(tx: Queryable, purpose: SecretPurpose, key: Uint8Array): Promise<string> {
    const id = newId();
    await tx.query(INSERT_SECRET, [id, purpose, Buffer.from(key), this.#timestamp(0)]);
    return id;
  }

  #timestamp(offsetMs: number): string {
    return new Date(this.#clock.now() + offsetMs).toISOString();
  }
}
