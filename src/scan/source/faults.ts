import type { Problem, ProblemCode } from '../result.ts';

/** What the system's errors mean for a scan, and how people are told. */
const MEANINGS: Readonly<Record<string, { code: ProblemCode; message: string }>> = {
  ENOENT: { code: 'vanished', message: 'it was gone when it was to be read' },
  ENOTDIR: { code: 'vanished', message: 'it was gone when it was to be read: a directory above it is none any more' },
  ESTALE: { code: 'vanished', message: 'it was gone when it was to be read' },
  EACCES: { code: 'unreadable', message: 'permission denied' },
  EPERM: { code: 'unreadable', message: 'operation not permitted' },
  ELOOP: { code: 'link_not_followed', message: 'it is a symbolic link by now, or leads through too many' },
  ENXIO: { code: 'special_file', message: 'it is a socket or a device that cannot be read' },
  ENODEV: { code: 'special_file', message: 'it is a device that is not there' },
  EISDIR: { code: 'special_file', message: 'it is a directory by now' },
  EAGAIN: { code: 'special_file', message: 'it has no data at the moment and would keep the scan waiting' },
  ENAMETOOLONG: { code: 'unreadable', message: 'its path is longer than this system can open' },
  EMFILE: { code: 'unreadable', message: 'too many files are open in this process' },
  ENFILE: { code: 'unreadable', message: 'too many files are open on this machine' },
  EIO: { code: 'unreadable', message: 'the device reported an input or output error' },
};

/** The problem that an error of the file system is for the object at `path`. */
export function problemOf(error: unknown, path: string, extent: Problem['extent'] = 'skipped'): Problem {
  const { code, message } = error as NodeJS.ErrnoException;
  const meaning = code === undefined ? undefined : MEANINGS[code];
  if (meaning !== undefined) return { code: meaning.code, path, message: `${meaning.message} (${code!})`, extent };
  return { code: 'unreadable', path, message: `it cannot be read: ${message}`, extent };
}
