import { auditHash, NO_AUDIT_HASH } from '@heddle/base/audit-chain';
import type { AuditVerdict } from '../../app/remote/audit.ts';
import type { HeddleClient } from '@heddle/client';
import type { AuditEntry } from '../output/wire.ts';

const PAGE_SIZE = 100;

/**
 * Computes every hash of the server's audit log again, oldest entry first.
 *
 * @param head hash of an entry that is known from elsewhere
 */
export async function verifyServer(
  audit: HeddleClient['audit'],
  url: string,
  head: string | undefined,
): Promise<AuditVerdict> {
  let first: AuditEntry | null = null;
  let last: AuditEntry | null = null;
  let lines = 0;
  let anchored = false;
  const verdict = (fault: AuditVerdict['fault']): AuditVerdict => ({
    fault,
    lines,
    first: first === null ? null : { seq: first.seq, prev: first.seq === 1 ? NO_AUDIT_HASH : '', at: first.at },
    last: last === null ? null : { seq: last.seq, hash: last.hash, at: last.at },
    notes:
      first === null || first.seq === 1 ? [] : [`the log begins at number ${first.seq}: earlier entries were deleted`],
    anchored: head === undefined ? null : anchored || head === NO_AUDIT_HASH,
  });
  for await (const entry of entriesOf(audit)) {
    const reason = faultOf(entry, last);
    if (reason !== null) return verdict({ file: url, line: lines + 1, seq: entry.seq, reason });
    first ??= entry;
    last = entry;
    lines += 1;
    anchored ||= entry.hash === head;
  }
  return verdict(null);
}

async function* entriesOf(audit: HeddleClient['audit']): AsyncGenerator<AuditEntry> {
  for (let after = 0; ;) {
    const page = await audit.list({ after, page_size: PAGE_SIZE });
    if (page.length === 0) return;
    yield* page;
    after = page.at(-1)!.seq;
  }
}

/** Nothing is known of the entry before the first one that is kept; its hash then stands for it. */
function faultOf(entry: AuditEntry, last: AuditEntry | null): string | null {
  if (last !== null && entry.seq !== last.seq + 1) return `it is number ${entry.seq} after number ${last.seq}`;
  const previous = last?.hash ?? (entry.seq === 1 ? NO_AUDIT_HASH : null);
  if (previous === null) return null;
  const { at, ...rest } = entry;
  const matches = auditHash(previous, { ...rest, at: Date.parse(at) }) === entry.hash;
  return matches ? null : 'it was altered, or one before it: its hash does not match';
}
