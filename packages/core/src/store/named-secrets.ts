import type { Queryable, Statement } from './database.ts';

/** A stored secret. Times are milliseconds since the epoch. */
export interface NamedSecretRow {
  name: string;
  /** Number of its value; another value has another number. */
  version: number;
  key_id: string;
  sealed: Uint8Array;
  grants: readonly string[];
  created_at: number;
  updated_at: number;
}

const COLUMNS = 'name, version, key_id, sealed, grants, created_at, updated_at';

const PUT: Statement = {
  name: 'named_secrets.put',
  text: `select ${COLUMNS} from put_named_secret($1, $2, $3, $4::text[], $5)`,
};
const FIND: Statement = {
  name: 'named_secrets.find',
  text: `select ${COLUMNS} from named_secret where name = any($1::text[])`,
};
const LIST: Statement = { name: 'named_secrets.list', text: `select ${COLUMNS} from named_secret order by name` };
const REMOVE: Statement = {
  name: 'named_secrets.remove',
  text: `with removed as (delete from named_secret where name = $1 returning *)
    insert into retired_secret (version, name, key_id, sealed, grants, retired_at)
    select r.version, r.name, r.key_id, r.sealed, r.grants, $2 from removed r returning name`,
};
const LIST_RETIRED: Statement = {
  name: 'named_secrets.list_retired',
  text: `select name, version, key_id, sealed, grants from retired_secret where key_id <> $1 order by version`,
};
const RESEAL_RETIRED: Statement = {
  name: 'named_secrets.reseal_retired',
  text: `update retired_secret set key_id = $2, sealed = $3 where version = $1`,
};
// What was set meanwhile is under the new key already.
const RESEAL: Statement = {
  name: 'named_secrets.reseal',
  text: `update named_secret set key_id = $3, sealed = $4 where name = $1 and sealed = $2 returning name`,
};

export async function putNamedSecret(
  queryable: Queryable,
  secret: Pick<NamedSecretRow, 'name' | 'key_id' | 'sealed' | 'grants'>,
  now: string,
): Promise<NamedSecretRow> {
  const { name, key_id, sealed, grants } = secret;
  const [row] = await queryable.query<NamedSecretRow>(PUT, [name, key_id, Buffer.from(sealed), [...grants], now]);
  return row!;
}

export function findNamedSecrets(queryable: Queryable, names: readonly string[]): Promise<NamedSecretRow[]> {
  return queryable.query<NamedSecretRow>(FIND, [[...names]]);
}

export function listNamedSecrets(queryable: Queryable): Promise<NamedSecretRow[]> {
  return queryable.query<NamedSecretRow>(LIST);
}

/** Returns whether it existed. */
export async function removeNamedSecret(queryable: Queryable, name: string, now: string): Promise<boolean> {
  return (await queryable.query(REMOVE, [name, now])).length > 0;
}

/** A former value of a secret. */
export type RetiredSecretRow = Omit<NamedSecretRow, 'created_at' | 'updated_at'>;

/** Returns those that were encrypted with another key. */
export function listRetiredSecrets(queryable: Queryable, keyId: string): Promise<RetiredSecretRow[]> {
  return queryable.query<RetiredSecretRow>(LIST_RETIRED, [keyId]);
}

export async function resealRetiredSecret(
  queryable: Queryable,
  version: number,
  fresh: { key_id: string; sealed: Uint8Array },
): Promise<void> {
  await queryable.query(RESEAL_RETIRED, [version, fresh.key_id, Buffer.from(fresh.sealed)]);
}

/** Replaces a sealed value unless it was changed since; returns whether it did. */
export async function resealNamedSecret(
  queryable: Queryable,
  { name, sealed }: NamedSecretRow,
  fresh: { key_id: string; sealed: Uint8Array },
): Promise<boolean> {
  const given = [name, Buffer.from(sealed), fresh.key_id, Buffer.from(fresh.sealed)];
  return (await queryable.query(RESEAL, given)).length > 0;
}
