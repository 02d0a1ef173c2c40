import type { Queryable, Statement } from './database.ts';
import { numberArray, uuidArray } from './transitions.ts';
import type { NamedSecretRow } from './named-secrets.ts';

/** A value of a secret that was sent for a task. */
export interface SentSecret {
  task_id: string;
  name: string;
  version: number;
}

type SentValueRow = Pick<NamedSecretRow, 'name' | 'key_id' | 'sealed' | 'grants'> & { task_id: string };

const NOTE: Statement = {
  name: 'sent_secrets.note',
  text: `select note_sent_secrets($1::uuid[], $2::text[], $3::bigint[])`,
};
// The present value as well: the one that was sent may have been deleted.
const FIND: Statement = {
  name: 'sent_secrets.find',
  text: `select s.task_id, v.name, v.key_id, v.sealed, v.grants from sent_secret s
    join named_secret v on v.name = s.name where s.task_id = any($1::uuid[])
    union all
    select s.task_id, v.name, v.key_id, v.sealed, v.grants from sent_secret s
    join retired_secret v on v.version = s.version where s.task_id = any($1::uuid[])`,
};
const FORGET_RETIRED: Statement = {
  name: 'sent_secrets.forget_retired',
  text: `delete from retired_secret where version in (
    select r.version from retired_secret r where r.retired_at < $1
      and not exists (select 1 from sent_secret s where s.version = r.version) limit $2)`,
};

export async function noteSentSecrets(queryable: Queryable, sent: readonly SentSecret[]): Promise<void> {
  await queryable.query(NOTE, [
    uuidArray(sent.map(({ task_id }) => task_id)),
    sent.map(({ name }) => name),
    numberArray(sent.map(({ version }) => version)),
  ]);
}

/** Returns the values that were sent for tasks, as far as they are known, and those that their names have now. */
export function findSentSecrets(queryable: Queryable, taskIds: readonly string[]): Promise<SentValueRow[]> {
  return queryable.query<SentValueRow>(FIND, [uuidArray(taskIds)]);
}

/** Deletes values retired before a time that no task was sent. */
export async function forgetRetiredSecrets(queryable: Queryable, before: string, limit: number): Promise<void> {
  await queryable.query(FORGET_RETIRED, [before, limit]);
}
