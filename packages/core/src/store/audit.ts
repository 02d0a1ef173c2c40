import { auditText } from '@heddle/base/audit-chain';
import type { AuditEntry, AuditRecord } from '@heddle/base/vocabulary/audit';
import { DatabaseError } from 'pg';

import type { Queryable, Statement } from './database.ts';

const APPEND: Statement = { name: 'audit.append', text: `select append_audit($1::text[])` };
const FORGET: Statement = { name: 'audit.forget', text: `select forget_audit($1, $2)` };

/** Which entries a list has; null filters nothing. */
export interface AuditFilter {
  actor: string | null;
  action: string | null;
  object: string | null;
  /** Milliseconds since the epoch. */
  since: number | null;
}

const list = (name: string, position: string, order: 'asc' | 'desc'): Statement => ({
  name: `audit.list_${name}`,
  text: `select seq, entry, encode(hash, 'hex') as hash from audit_entry
    where ${position} and ($2::text is null or (entry::json) ->> 'actor' = $2)
      and ($3::text is null or (entry::json) ->> 'action' = $3)
      and ($4::text is null or (entry::json) ->> 'object' = $4)
      and ($5::bigint is null or ((entry::json) ->> 'at')::bigint >= $5)
    order by seq ${order} limit $6`,
});
const LIST_AFTER = list('after', 'seq > $1', 'asc');
const LIST_BEFORE = list('before', 'seq < $1', 'desc');
const LAST_SEQ = Number.MAX_SAFE_INTEGER;

/** Where a page begins: after a number, oldest first; or before one (null: the end), newest first. */
export type AuditPosition = { after: number } | { before: number | null };

/** Appends records in their order, in one transaction. */
export async function appendAudit(queryable: Queryable, records: readonly AuditRecord[]): Promise<void> {
  await queryable.query(APPEND, [records.map(auditText)]);
}

/** Returns whether a statement failed because the audit log could not take its entries. */
export function isAuditFailure(error: unknown): boolean {
  return error instanceof DatabaseError && error.where?.includes('append_audit(') === true;
}

export async function listAudit(
  queryable: Queryable,
  position: AuditPosition,
  { actor, action, object, since }: AuditFilter,
  limit: number,
): Promise<AuditEntry[]> {
  const [statement, seq] =
    'after' in position ? [LIST_AFTER, position.after] : [LIST_BEFORE, position.before ?? LAST_SEQ];
  const rows = await queryable.query<{ seq: number; entry: string; hash: string }>(statement, [
    seq,
    actor,
    action,
    object,
    since,
    limit,
  ]);
  return rows.map(({ seq, entry, hash }) => ({ seq, ...(JSON.parse(entry) as AuditRecord), hash }));
}

/** Deletes entries before a time, at most `limit`; never the last one. */
export async function forgetAudit(queryable: Queryable, beforeMs: number, limit: number): Promise<void> {
  await queryable.query(FORGET, [beforeMs, limit]);
}
