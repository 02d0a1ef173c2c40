import type { Clock } from '@heddle/base/clock';
import { auditText } from '@heddle/base/audit-chain';
import { Coalescer } from '@heddle/base/coalescer';
import type { Logger } from '@heddle/base/log';
import type { AuditEntry, AuditRecord } from '@heddle/base/vocabulary/audit';
import { appendAudit, forgetAudit, listAudit, type AuditFilter, type AuditPosition } from '../store/audit.ts';
import type { Queryable } from '../store/database.ts';

export type { AuditFilter, AuditPosition } from '../store/audit.ts';

const TEXT_CHARS_MAX = 500;
const RECORDS_PER_SET = 1_000;
const WAITING_MAX = 100_000;

/** The audit log of the system: who did what. */
export interface AuditLog {
  /** Returns the text of an entry that is stored in the transaction of the change that it records. */
  entryOf(record: Omit<AuditRecord, 'at'>): string;
  /** Resolves when it is stored. Never rejects: what cannot be stored goes to the log of the process. */
  record(record: Omit<AuditRecord, 'at'>): Promise<void>;
  list(position: AuditPosition, filter: AuditFilter, limit: number): Promise<AuditEntry[]>;
  /** Deletes entries that are older than their retention, at most `limit`. */
  retain(limit: number): Promise<void>;
}

export interface AuditLogOptions {
  database: Queryable;
  clock: Clock;
  log: Logger;
  retentionMs: number;
}

export function createAuditLog({ database, clock, log, retentionMs }: AuditLogOptions): AuditLog {
  const appended = new Coalescer<AuditRecord, undefined>({
    flush: async (records) => {
      await appendAudit(database, records);
      return records.map(() => undefined);
    },
    maxItems: RECORDS_PER_SET,
    maxWaiting: WAITING_MAX,
  });
  const recordOf = (given: Omit<AuditRecord, 'at'>): AuditRecord => ({ at: clock.now(), ...shortened(given) });
  return {
    entryOf: (given) => auditText(recordOf(given)),
    record: async (given) => {
      const record = recordOf(given);
      try {
        await appended.add(record);
      } catch (error) {
        log.error({ err: error, ...record }, 'an entry of the audit log could not be stored');
      }
    },
    list: (position, filter, limit) => listAudit(database, position, filter, limit),
    retain: (limit) => forgetAudit(database, clock.now() - retentionMs, limit),
  };
}

/** Callers choose names and addresses; PostgreSQL takes no NUL. */
function shortened(record: Omit<AuditRecord, 'at'>): Omit<AuditRecord, 'at'> {
  const { actor, action, object, status, address } = record;
  return { actor: plain(actor), action, object: plain(object), status, address: plain(address) };
}

function plain(text: string | null): string | null {
  return text === null ? null : text.slice(0, TEXT_CHARS_MAX).toWellFormed().replaceAll('\0', '\ufffd');
}
