import { isUuid } from '@heddle/base/ids';
import type { Artifact } from '@heddle/base/vocabulary/artifact';
import type { Queryable, Statement } from './database.ts';

const COLUMNS = `id, task_id, attempt, name, size, encode(digest, 'hex') as sha256, pinned, created_at`;

const PUT: Statement = {
  name: 'artifacts.put',
  text: `select put_artifact($1, $2, $3, $4, $5, $6, $7, $8) as refused`,
};
const LIST: Statement = {
  name: 'artifacts.list',
  text: `select ${COLUMNS} from artifact where task_id = $1 and ($2::integer is null or attempt = $2)
    order by attempt desc, name limit $3`,
};
const GET: Statement = { name: 'artifacts.get', text: `select ${COLUMNS} from artifact where id = $1` };
const OF_ATTEMPT: Statement = {
  name: 'artifacts.of_attempt',
  text: `select ${COLUMNS} from artifact where task_id = $1 and attempt = $2 and name = $3`,
};
const FIND: Statement = { name: 'artifacts.find', text: `select ${COLUMNS} from find_artifact($1, $2, $3, $4)` };
const PIN: Statement = {
  name: 'artifacts.pin',
  text: `update artifact set pinned = $2 where id = $1 returning ${COLUMNS}`,
};
const DELETE_LOST: Statement = { name: 'artifacts.delete_lost', text: `select delete_lost_artifacts($1)` };
const UNUSED: Statement = {
  name: 'artifacts.unused',
  text: `select b.digest from artifact_blob b where b.stored_at < $1
    and not exists (select 1 from artifact a where a.digest = b.digest) order by b.stored_at limit $2`,
};
const UNKNOWN: Statement = {
  name: 'artifacts.unknown',
  text: `select u.digest from unnest($1::bytea[]) u(digest)
    where not exists (select 1 from artifact_blob b where b.digest = u.digest)`,
};
const TAKE_UNUSED: Statement = {
  name: 'artifacts.take_unused',
  text: `select take_unused_blobs as digest from take_unused_blobs($1::bytea[], $2)`,
};

export interface NewArtifact extends Pick<Artifact, 'id' | 'task_id' | 'attempt' | 'name' | 'size'> {
  digest: Buffer;
}

/** Returns why it was refused; null if it is stored. */
export async function putArtifact(
  queryable: Queryable,
  { id, task_id, attempt, name, digest, size }: NewArtifact,
  countMax: number,
  now: string,
): Promise<'not_found' | 'stale_attempt' | 'too_many' | null> {
  const given = [id, task_id, attempt, name, digest, size, countMax, now];
  const [row] = await queryable.query<{ refused: 'not_found' | 'stale_attempt' | 'too_many' | null }>(PUT, given);
  return row!.refused;
}

export function listArtifacts(
  queryable: Queryable,
  taskId: string,
  attempt: number | null,
  limit: number,
): Promise<Artifact[]> {
  return queryable.query<Artifact>(LIST, [taskId, attempt, limit]);
}

export async function getArtifact(queryable: Queryable, id: string): Promise<Artifact | null> {
  return (await queryable.query<Artifact>(GET, [id]))[0] ?? null;
}

export async function artifactOfAttempt(
  queryable: Queryable,
  { task_id, attempt, name }: Pick<Artifact, 'task_id' | 'attempt' | 'name'>,
): Promise<Artifact | null> {
  return (await queryable.query<Artifact>(OF_ATTEMPT, [task_id, attempt, name]))[0] ?? null;
}

export async function findArtifact(
  queryable: Queryable,
  taskId: string,
  node: string,
  name: string,
): Promise<Artifact | null> {
  return (await queryable.query<Artifact>(FIND, [taskId, node, isUuid(node) ? node : null, name]))[0] ?? null;
}

export async function pinArtifact(queryable: Queryable, id: string, pinned: boolean): Promise<Artifact | null> {
  return (await queryable.query<Artifact>(PIN, [id, pinned]))[0] ?? null;
}

export async function deleteLostArtifacts(queryable: Queryable, limit: number): Promise<void> {
  await queryable.query(DELETE_LOST, [limit]);
}

/** Returns contents that no artifact has, stored before a time. */
export async function unusedBlobs(queryable: Queryable, before: string, limit: number): Promise<Buffer[]> {
  return (await queryable.query<{ digest: Buffer }>(UNUSED, [before, limit])).map(({ digest }) => digest);
}

/** Returns those of the contents that no row names. */
export async function unknownBlobs(queryable: Queryable, digests: readonly Buffer[]): Promise<Buffer[]> {
  if (digests.length === 0) return [];
  return (await queryable.query<{ digest: Buffer }>(UNKNOWN, [byteaArray(digests)])).map(({ digest }) => digest);
}

/** Locks contents for the transaction and returns those that nothing uses and that were not stored after a time. */
export async function takeUnusedBlobs(tx: Queryable, digests: readonly Buffer[], before: string): Promise<Buffer[]> {
  return (await tx.query<{ digest: Buffer }>(TAKE_UNUSED, [byteaArray(digests), before])).map(({ digest }) => digest);
}

function byteaArray(digests: readonly Buffer[]): string {
  return `{${digests.map((digest) => `"\\\\x${digest.toString('hex')}"`).join(',')}}`;
}
