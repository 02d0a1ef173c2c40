import { readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

import { HeddleError } from '@heddle/base/errors';

/** Suffix of the lock file beside a state file in use. */
export const LOCK_SUFFIX = '.lock';

/** Locks held by this process: its own process id in a file proves nothing about them. */
const held = new Set<string>();

/**
 * Prevents two scans from sharing a state file: a file beside it names the process that writes. A lock left behind by
 * a killed process is recognized by its process id and, if the system reports it, the start time.
 */
export class StateLock {
  readonly #path: string;

  /** Throws CONFLICT if another scan holds it. */
  constructor(statePath: string) {
    this.#path = `${canonical(statePath)}${LOCK_SUFFIX}`;
    if (held.has(this.#path)) throw inUse(statePath, this.#path, process.pid);
    for (let tries = 0; ; tries++) {
      try {
        writeFileSync(this.#path, ownMark(), { flag: 'wx', mode: 0o600 });
        break;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        const owner = livingOwner(this.#path);
        if (owner !== null || tries > 0) throw inUse(statePath, this.#path, owner);
        rmSync(this.#path, { force: true });
      }
    }
    held.add(this.#path);
  }

  release(): void {
    held.delete(this.#path);
    rmSync(this.#path, { force: true });
  }
}

function canonical(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const absolute = resolve(path);
    return join(realpathSync(dirname(absolute)), basename(absolute));
  }
}

function inUse(statePath: string, lock: string, owner: number | null): HeddleError {
  const who = owner === null ? 'another scan' : `another scan (process ${owner})`;
  return new HeddleError(
    'CONFLICT',
    `${who} is using the state file ${statePath}; ` +
      `wait for it, name another file, or remove ${lock} if no scan is running`,
  );
}

/** Returns the process that a lock names if it is alive; null for a stale lock. */
function livingOwner(lock: string): number | null {
  const [pid, startedAt] = readLock(lock);
  if (pid <= 0 || pid === process.pid) return null;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return null;
  }
  const now = startTime(pid);
  return now === '' || startedAt === '' || now === startedAt ? pid : null;
}

function readLock(lock: string): [number, string] {
  try {
    const [pid = '', startedAt = ''] = readFileSync(lock, 'latin1').trim().split(' ');
    return [Number(pid) || 0, startedAt];
  } catch {
    return [0, ''];
  }
}

function ownMark(): string {
  return `${process.pid} ${startTime(process.pid)}\n`;
}

/** Returns the start time of a process in ticks since boot; empty if the system does not report it. */
function startTime(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie process holds nothing any more.
    return fields[0] === 'Z' ? 'ended' : (fields[19] ?? '');
  } catch {
    return '';
  }
}
