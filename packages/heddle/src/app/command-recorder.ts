import { userInfo } from 'node:os';

import { systemClock } from '@heddle/base/clock';
import { appendAudit } from '@heddle/core/store/audit';
import type { Queryable } from '@heddle/core/store/database';

/** Records in the audit log what a command did to the database. */
export type CommandRecorder = (action: string, object: string) => Promise<void>;

export function commandRecorder(database: Queryable): CommandRecorder {
  return (action, object) =>
    appendAudit(database, [
      { at: systemClock.now(), actor: `cli:${userName()}`, action, object, status: null, address: null },
    ]);
}

/** Users of containers may have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? '');
  }
}
