import { verifyAuditLog, type AuditVerdict } from '@heddle/executor/audit/verify';
import { CommandFailure, EXIT } from '@heddle/base/terminal/failure';

export type { AuditVerdict } from '@heddle/executor/audit/verify';

const HASH = /^[0-9a-f]{64}$/;

/**
 * Verifies an audit log from its first line to its last.
 * @param head the hash of a line that is known from elsewhere
 * @throws CommandFailure if a file cannot be read
 */
export async function verifyFiles(paths: readonly string[], head: string | undefined): Promise<AuditVerdict> {
  try {
    return await verifyAuditLog(paths, { anchor: head ?? null });
  } catch (error) {
    const { code, path = paths.join(', ') } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw usage(`${path}: ${REASONS[code] ?? code}`, error);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'this user may not read it',
  EISDIR: 'is a directory; name the files in it',
};

/** @throws CommandFailure if it is given and no hash */
export function requireHash(head: string | undefined): void {
  if (head !== undefined && !HASH.test(head)) throw usage(`--head: ${head} must be a hash of 64 hexadecimal digits`);
}

function usage(message: string, cause?: unknown): CommandFailure {
  return new CommandFailure(message, { exitCode: EXIT.usage, cause });
}
