import { CommandFailure, EXIT } from '../failure.ts';

/** Exit codes of `heddle scan`: an error is told before findings, findings before what was left out. */
export const SCAN_EXIT = {
  clean: 0,
  findings: 1,
  error: 2,
  /** No findings, but not everything could be scanned. */
  incomplete: 3,
  /** Ended by Ctrl-C. */
  interrupted: 130,
} as const;

export type ScanExit = (typeof SCAN_EXIT)[keyof typeof SCAN_EXIT];

/** What was asked for cannot be done; the sentence names the flag and the remedy. */
export function refused(sentence: string, cause?: unknown): CommandFailure {
  return new CommandFailure(sentence, { exitCode: EXIT.usage, ...(cause === undefined ? {} : { cause }) });
}

const FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of the path is no directory',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'its links lead in circles',
  ENOSPC: 'the disk is full',
  EROFS: 'the file system is read-only',
};

/** What the system says of a file, in words. */
export function systemFault(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return FAULTS[code ?? ''] ?? message;
}
