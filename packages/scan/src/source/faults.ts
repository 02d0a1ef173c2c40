import type { Problem, ProblemCode } from '../result.ts';

/** Problem code and message for the system's errors. */
const MEANINGS: Readonly<Record<string, { code: ProblemCode; message: string }>> = {
  ENOENT: { code: 'vanished', message: 'it disappeared before it could be read' },
  ENOTDIR: { code: 'vanished', message: 'it disappeared before it could be read: a parent is no longer a directory' },
  ESTALE: { code: 'vanished', message: 'it disappeared before it could be read' },
  EACCES: { code: 'unreadable', message: 'permission denied' },
  EPERM: { code: 'unreadable', message: 'operation not permitted' },
  ELOOP: { code: 'link_not_followed', message: 'it became a symbolic link, or resolves through too many links' },
  ENXIO: { code: 'special_file', message: 'it is a socket or a device that cannot be read' },
  ENODEV: { code: 'special_file', message: 'it is a device that does not exist' },
  EISDIR: { code: 'special_file', message: 'it became a directory' },
  EAGAIN: { code: 'special_file', message: 'it has no data yet, and reading it would block the scan' },
  ENAMETOOLONG: { code: 'unreadable', message: 'its path is too long for this system' },
  EMFILE: { code: 'unreadable', message: 'this process has too many open files' },
  ENFILE: { code: 'unreadable', message: 'this machine has too many open files' },
  EIO: { code: 'unreadable', message: 'the device reported an I/O error' },
};

/** Converts a file system error to a problem of the object at `path`. */
export function problemOf(error: unknown, path: string, extent: Problem['extent'] = 'skipped'): Problem {
  const { code, message } = error as NodeJS.ErrnoException;
  const meaning = code === undefined ? undefined : MEANINGS[code];
  if (meaning !== undefined) return { code: meaning.code, path, message: `${meaning.message} (${code!})`, extent };
  return { code: 'unreadable', path, message: `it cannot be read: ${message}`, extent };
}
