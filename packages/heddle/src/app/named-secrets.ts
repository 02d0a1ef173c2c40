import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { createAuditLog, type AuditLog } from '@heddle/core/engine/audit-log';
import { createNamedSecrets } from '@heddle/core/engine/secrets/named-secrets';
import type { NamedSecrets } from '@heddle/core/engine/port';
import type { Database } from '@heddle/core/store/database';
import { clientOf, type ServerAddress } from './server-access.ts';
import { serverSecrets } from './server-secrets.ts';
import { secretKeyring } from './secret-keys.ts';
import type { SettingValues } from './settings.ts';

interface Parts {
  database: Database;
  clock: Clock;
  log: Logger;
}

export function auditLogOf(settings: SettingValues, parts: Parts): AuditLog {
  return createAuditLog({ ...parts, retentionMs: settings.auditKeepSecs * 1000 });
}

/** The secrets that tasks name, as every process that runs them reads them. */
export function secretsOf(settings: SettingValues, parts: Parts, audit = auditLogOf(settings, parts)): NamedSecrets {
  return createNamedSecrets({ ...parts, audit, keyring: secretKeyring(settings) });
}

/** The secrets that a worker reads: in the database if it has one, else from a server; null if it has neither. */
export function workerSecrets(
  settings: SettingValues,
  server: ServerAddress | null,
  { database, ...parts }: Omit<Parts, 'database'> & { database: Database | null },
): Pick<NamedSecrets, 'use'> | null {
  if (database !== null) return secretsOf(settings, { database, ...parts });
  return server === null ? null : serverSecrets(clientOf(server));
}
