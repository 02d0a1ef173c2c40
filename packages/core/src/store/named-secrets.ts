import type { Queryable, Statement } from './database.ts';

/** A stored secret. Times are milliseconds since the epoch. */
export interface NamedSecretRow {
  name: string;
  key_id: string;
  sealed: Uint8Array;
  grants: readonly string[];
  created_at: number;
  updated_at: number;
}

const COLUMNS = 'name, key_id, sealed, grants, created_at, updated_at';

const PUT: Statement = {
  name: 'named_secrets.put',
  text: `insert into named_secret (name, key_id, sealed, grants, created_at, updated_at)
    values ($1, $2, $3, $4::text[], $5, $5)
    on conflict (name) do update set key_id = excluded.key_id, sealed = excluded.sealed, grants = excluded.grants,
      updated_at = excluded.updated_at
    returning ${COLUMNS}`,
};
const FIND: Statement = {
  name: 'named_secrets.find',
  text: `select ${COLUMNS} from named_secret where name = any($1::text[])`,
};
const LIST: Statement = { name: 'named_secrets.list', text: `select ${COLUMNS} from named_secret order by name` };
const REMOVE: Statement = {
  name: 'named_secrets.remove',
  text: `delete from named_secret where name = $1 returning name`,
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
export async function removeNamedSecret(queryable: Queryable, name: string): Promise<boolean> {
  return (await queryable.query(REMOVE, [name])).length > 0;
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
