import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { createAuditLog, type AuditLog } from '@heddle/core/engine/audit-log';
import { createNamedSecrets } from '@heddle/core/engine/secrets/named-secrets';
import type { NamedSecrets } from '@heddle/core/engine/port';
import type { Database } from '@heddle/core/store/database';
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
