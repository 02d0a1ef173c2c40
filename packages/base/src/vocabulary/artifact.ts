const NAME_CHARS_MAX = 500;

/** A file of a task. */
export interface Artifact {
  id: string;
  task_id: string;
  attempt: number;
  /** Relative path, such as `reports/result.xml`. */
  name: string;
  /** Bytes. */
  size: number;
  /** 64 hexadecimal digits. */
  sha256: string;
  /** Whether it is kept when its task is deleted. */
  pinned: boolean;
  /** Milliseconds since the epoch. */
  created_at: number;
}

/** Returns why a name cannot be that of an artifact; null if it can. A download must stay inside its directory. */
export function artifactNameFault(name: string): string | null {
  if (name === '' || name.length > NAME_CHARS_MAX) return `must have 1 to ${NAME_CHARS_MAX} characters`;
  if (/[\p{Cc}\p{Zl}\p{Zp}\\]/u.test(name) || !name.isWellFormed()) {
    return 'must not contain control characters or backslashes';
  }
  const parts = name.split('/');
  if (parts.includes('..') || parts.includes('.') || parts.includes('') || /^[A-Za-z]:/.test(name)) {
    return 'must be a relative path without empty parts, . and ..';
  }
  return null;
}
