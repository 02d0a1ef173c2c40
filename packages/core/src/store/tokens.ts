import { createHash } from 'node:crypto';

import type { ApiToken, TokenScope } from '../domain/token.ts';
import type { Clock } from '@heddle/base/clock';
import { newId, type Random } from '@heddle/base/random';
import type { Queryable, Statement } from './database.ts';

const COLUMNS = 'id, name, token_hash, scopes, kinds, classes, created_at, expires_at, revoked_at, last_used_at';

const INSERT_TOKEN: Statement = {
  name: 'tokens.insert',
  text: `insert into api_token (id, name, token_hash, scopes, created_at, expires_at, kinds, classes)
    values ($1, $2, $3, $4::text[], $5, $6, $7::text[], $8::text[]) returning ${COLUMNS}`,
};

const FIND_TOKEN: Statement = {
  name: 'tokens.find',
  text: `select ${COLUMNS} from api_token where token_hash = any($1::bytea[])`,
};

const LIST_TOKENS: Statement = {
  name: 'tokens.list',
  text: `select ${COLUMNS} from api_token order by created_at, id`,
};

const REVOKE_TOKEN: Statement = {
  name: 'tokens.revoke',
  text: `update api_token set revoked_at = $2 where id = $1 and revoked_at is null returning ${COLUMNS}`,
};

const TOUCH_TOKEN: Statement = {
  name: 'tokens.touch',
  text: `update api_token set last_used_at = greatest(last_used_at, $2::timestamptz) where id = $1`,
};

export const TOKEN_PREFIX = 'hdl_';
const TOKEN_BYTES = 32;

/** Returns the form in which a token is stored and looked up. */
export function hashToken(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

export interface TokenStoreOptions {
  database: Queryable;
  clock: Clock;
  random: Random;
}

export type TokenLimits = Pick<ApiToken, 'kinds' | 'classes'>;

const NO_LIMITS: TokenLimits = { kinds: null, classes: null };

/** API tokens: a token's value is returned once, when it is created; only its hash is stored. */
export class TokenStore {
  readonly #database: Queryable;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor({ database, clock, random }: TokenStoreOptions) {
    this.#database = database;
    this.#clock = clock;
    this.#random = random;
  }

  /**
   * Creates a token: `hdl_` and 32 random bytes in base64url.
   *
   * @param expiresAt milliseconds since the epoch; null: never
   * @param limits to kinds that it may claim, and classes of runners that it may register; null: any
   */
  async create(
    name: string,
    scopes: readonly TokenScope[],
    expiresAt: number | null,
    { kinds, classes }: TokenLimits = NO_LIMITS,
  ): Promise<{ text: string; token: ApiToken }> {
    const text = TOKEN_PREFIX + Buffer.from(this.#random.bytes(TOKEN_BYTES)).toString('base64url');
    const [token] = await this.#database.query<ApiToken>(INSERT_TOKEN, [
      newId(),
      name,
      hashToken(text),
      [...new Set(scopes)],
      timestamp(this.#clock.now()),
      expiresAt === null ? null : timestamp(expiresAt),
      kinds === null ? null : [...kinds],
      classes === null ? null : [...classes],
    ]);
    return { text, token: token! };
  }

  findByHashes(hashes: readonly Uint8Array[]): Promise<ApiToken[]> {
    return this.#database.query<ApiToken>(FIND_TOKEN, [hashes]);
  }

  list(): Promise<ApiToken[]> {
    return this.#database.query<ApiToken>(LIST_TOKENS);
  }

  /** Revokes a token, and with it the sessions that it opened; returns null if none with this id was left to revoke. */
  async revoke(id: string): Promise<ApiToken | null> {
    const [revoked] = await this.#database.query<ApiToken>(REVOKE_TOKEN, [id, timestamp(this.#clock.now())]);
    return revoked ?? null;
  }

  async touch(id: string, atMs: number): Promise<void> {
    await this.#database.query(TOUCH_TOKEN, [id, timestamp(atMs)]);
  }
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}
