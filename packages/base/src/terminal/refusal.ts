import { CommandFailure, EXIT } from './failure.ts';

/** Returns the failure of a request that cannot be carried out; the message names the flag and the remedy. */
export function refused(sentence: string, cause?: unknown): CommandFailure {
  return new CommandFailure(sentence, { exitCode: EXIT.usage, ...(cause === undefined ? {} : { cause }) });
}

/** Returns the failure to write results: the request was valid, but its exit code is that of every error of a scan. */
export function unwritable(cause: unknown): CommandFailure {
  const message = `cannot write to standard output: ${systemFault(cause)}`;
  return new CommandFailure(message, { code: 'FAILED', exitCode: EXIT.usage, cause });
}

const FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of the path is not a directory',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'its symbolic links form a loop',
  ENOSPC: 'the disk is full',
  EROFS: 'the file system is read-only',
};

/** Describes an error of the file system in words. */
export function systemFault(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return FAULTS[code ?? ''] ?? message;
}
