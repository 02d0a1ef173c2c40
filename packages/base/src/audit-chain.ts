import { createHash } from 'node:crypto';

import type { AuditRecord } from './vocabulary/audit.ts';

/** `previous` of the first entry. */
export const NO_AUDIT_HASH = '0'.repeat(64);

/** Returns the text that the hash of a record covers, after its number and a space. */
export function auditText({ at, actor, action, object, status, address }: AuditRecord): string {
  return JSON.stringify({ at, actor, action, object, status, address });
}

/** SHA-256 of the previous hash (32 bytes), the number, a space and the text. */
export function auditHash(previous: string, record: AuditRecord & { seq: number }): string {
  return createHash('sha256')
    .update(Buffer.from(previous, 'hex'))
    .update(`${record.seq} ${auditText(record)}`)
    .digest('hex');
}
