import type { Clock } from '@heddle/base/clock';
import { newId, type Random } from '@heddle/base/random';
import type { OwnerKey, Session, SessionOwner } from '../domain/session.ts';
import type { Database, Queryable, Statement } from './database.ts';
import { hashToken } from './tokens.ts';

/** Sessions whose token is revoked are none any more; the scopes of a token are those that it has now. */
const SELECT = `select s.id, s.secret_hash, s.token_id, s.issuer, s.subject, coalesce(t.name, s.name) as name,
    coalesce(t.scopes, s.scopes) as scopes, t.kinds, t.classes, s.created_at, s.last_used_at,
    least(s.expires_at, t.expires_at) as expires_at, s.address, s.browser
  from session s left join api_token t on t.id = s.token_id
  where t.revoked_at is null`;

/** With $1 as the present, $2 as the time since which it was used, and $4 as the name of its user (null: any). */
const LIVE = `least(s.expires_at, t.expires_at) > $1 and s.last_used_at > $2
  and ($4::text is null or coalesce(t.name, s.name) = $4)`;
const LAST_USED_FIRST = `order by s.last_used_at desc, s.id limit $3`;

const INSERT: Statement = {
  name: 'sessions.insert',
  text: `insert into session
      (id, secret_hash, token_id, issuer, subject, name, scopes, created_at, last_used_at, expires_at, address, browser)
    values ($1, $2, $3, $4, $5, $6, $7::text[], $8, $8, $9, $10, $11)`,
};

const MAKE_ROOM_FOR_TOKEN: Statement = {
  name: 'sessions.make_room_for_token',
  text: `delete from session where id in
    (select id from session where token_id = $1 order by last_used_at desc offset $2)`,
};

const MAKE_ROOM_FOR_IDENTITY: Statement = {
  name: 'sessions.make_room_for_identity',
  text: `delete from session where id in
    (select id from session where token_id is null and issuer = $1 and subject = $2
      order by last_used_at desc offset $3)`,
};

const FIND: Statement = {
  name: 'sessions.find',
  text: `${SELECT} and s.secret_hash = any($1::bytea[])`,
};

const TOUCH: Statement = {
  name: 'sessions.touch',
  text: `update session set last_used_at = greatest(last_used_at, $2::timestamptz), address = $3 where id = $1`,
};

const LIST: Statement = { name: 'sessions.list', text: `${SELECT} and ${LIVE} ${LAST_USED_FIRST}` };

const LIST_OF_TOKEN: Statement = {
  name: 'sessions.list_of_token',
  text: `${SELECT} and ${LIVE} and s.token_id = $5 ${LAST_USED_FIRST}`,
};

const LIST_OF_IDENTITY: Statement = {
  name: 'sessions.list_of_identity',
  text: `${SELECT} and ${LIVE} and s.token_id is null and s.issuer = $5 and s.subject = $6 ${LAST_USED_FIRST}`,
};

const GET: Statement = { name: 'sessions.get', text: `${SELECT} and s.id = $1` };

const END: Statement = { name: 'sessions.end', text: `delete from session where id = $1 returning id` };

const DELETE_ENDED: Statement = {
  name: 'sessions.delete_ended',
  text: `delete from session where id in (
    (select id from session where expires_at <= $1 limit $3)
    union (select id from session where last_used_at <= $2 limit $3)
    union (select s.id from session s join api_token t on t.id = s.token_id
      where t.revoked_at is not null or t.expires_at <= $1 limit $3))`,
};

const SECRET_PREFIX = 'hds_';
const SECRET_BYTES = 32;
/** Sessions of one token or identity; a further one ends the one that was not used for the longest time. */
export const SESSIONS_PER_OWNER_MAX = 100;
/** Sessions that a list has at most. */
const LIST_MAX = 1_000;

export interface SessionStoreOptions {
  database: Database;
  clock: Clock;
  random: Random;
  /** How long a session may be unused, milliseconds. */
  idleMs: number;
  /** How long a session may last, milliseconds. */
  maxMs: number;
}

/** Logins of browsers: the value of a cookie is returned once, when it is created; only its hash is stored. */
export class SessionStore {
  readonly #options: SessionStoreOptions;

  constructor(options: SessionStoreOptions) {
    this.#options = options;
  }

  get idleMs(): number {
    return this.#options.idleMs;
  }

  /** Opens a session; its cookie has the value `hds_` and 32 random bytes in base64url. */
  async open(owner: SessionOwner, from: { address: string | null; browser: string | null }): Promise<OpenedSession> {
    const { database, clock, random, maxMs } = this.#options;
    const secret = SECRET_PREFIX + Buffer.from(random.bytes(SECRET_BYTES)).toString('base64url');
    const now = clock.now();
    const id = newId();
    const values = 'token_id' in owner ? [owner.token_id, null, null, null, null] : identityOf(owner);
    const row = [id, hashToken(secret), ...values, timestamp(now), timestamp(now + maxMs), from.address, from.browser];
    const session = await database.transaction(async (tx) => {
      await tx.query(INSERT, row);
      await makeRoom(tx, owner);
      const [opened] = await tx.query<Session>(GET, [id]);
      return opened ?? null;
    });
    return { secret, session };
  }

  findByHashes(hashes: readonly Uint8Array[]): Promise<Session[]> {
    return this.#options.database.query<Session>(FIND, [hashes]);
  }

  async touch(id: string, atMs: number, address: string): Promise<void> {
    await this.#options.database.query(TOUCH, [id, timestamp(atMs), address]);
  }

  /** Returns live sessions, the last used first: of one owner, of users of one name, or (null) all, at most 1,000. */
  list(owner: OwnerKey | null, user: string | null = null): Promise<Session[]> {
    const { database, clock, idleMs } = this.#options;
    const live = [timestamp(clock.now()), timestamp(clock.now() - idleMs), LIST_MAX, user];
    if (owner === null) return database.query<Session>(LIST, live);
    if (owner.token_id !== null) return database.query<Session>(LIST_OF_TOKEN, [...live, owner.token_id]);
    return database.query<Session>(LIST_OF_IDENTITY, [...live, owner.issuer, owner.subject]);
  }

  async get(id: string): Promise<Session | null> {
    const [session] = await this.#options.database.query<Session>(GET, [id]);
    return session ?? null;
  }

  /** Ends a session; returns whether there was one. */
  async end(id: string): Promise<boolean> {
    return (await this.#options.database.query(END, [id])).length > 0;
  }

  /** Deletes sessions that have ended, at most `limit` for each reason. */
  async retain(limit: number): Promise<void> {
    const { database, clock, idleMs } = this.#options;
    const now = clock.now();
    await database.query(DELETE_ENDED, [timestamp(now), timestamp(now - idleMs), limit]);
  }
}

/** @property session null if its token was revoked in the meantime */
export interface OpenedSession {
  secret: string;
  session: Session | null;
}

function identityOf(owner: Exclude<SessionOwner, { token_id: string }>): unknown[] {
  return [null, owner.issuer, owner.subject, owner.name, [...owner.scopes]];
}

async function makeRoom(tx: Queryable, owner: SessionOwner): Promise<void> {
  if ('token_id' in owner) await tx.query(MAKE_ROOM_FOR_TOKEN, [owner.token_id, SESSIONS_PER_OWNER_MAX]);
  else await tx.query(MAKE_ROOM_FOR_IDENTITY, [owner.issuer, owner.subject, SESSIONS_PER_OWNER_MAX]);
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}
