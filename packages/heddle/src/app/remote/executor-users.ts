import { readFileSync } from 'node:fs';

import { type UserRange, USERS } from '@heddle/executor/execution/slots';
import type { SettingValues } from '../settings.ts';

/** Files that list the numeric users that a machine has assigned. */
export interface UserFiles {
  readonly passwd: string;
  readonly subuid: string;
  readonly subgid: string;
}

interface Given extends UserRange {
  /** As an error names it. */
  readonly name: string;
}

/** One that runs a task, one started ahead and one that is ending, in each of two tiers. */
const USERS_PER_WORKER = 6;

export function userRangeOf({ executorFirstUser, executorUserCount }: SettingValues): UserRange {
  return { first: executorFirstUser, count: executorUserCount };
}

/** Returns whether the users of tasks are the default ones, whose faults are not faults of the configuration. */
export function isDefaultRange({ first, count }: UserRange): boolean {
  return first === USERS.first && count === USERS.count;
}

/** Reads the files of this machine; empty if tasks run as this process's own user. */
export function ownUserFiles(): UserFiles | null {
  if (process.getuid?.() !== 0) return null;
  return { passwd: textOf('/etc/passwd'), subuid: textOf('/etc/subuid'), subgid: textOf('/etc/subgid') };
}

/** Returns why tasks cannot run as these users: too few, or used by another account. */
export function userRangeFaults(range: UserRange, workers: number, files: UserFiles): string[] {
  const faults: string[] = [];
  if (range.count < workers * USERS_PER_WORKER) {
    faults.push(
      `HEDDLE_EXECUTOR_USER_COUNT: ${range.count} users are too few for ${workers} workers, which need ` +
        `${workers * USERS_PER_WORKER}: raise it, or lower HEDDLE_EXECUTOR_WORKER_COUNT`,
    );
  }
  const taken = [
    ...usersOf(files.passwd),
    ...rangesOf(files.subuid, '/etc/subuid'),
    ...rangesOf(files.subgid, '/etc/subgid'),
  ];
  const overlapping = taken.find((given) => overlaps(given, range));
  if (overlapping !== undefined) {
    faults.push(
      `HEDDLE_EXECUTOR_FIRST_USER, HEDDLE_EXECUTOR_USER_COUNT: the users ${textOfRange(range)} overlap ` +
        `${overlapping.name}: choose an unused range`,
    );
  }
  return faults;
}

function overlaps(one: UserRange, other: UserRange): boolean {
  return one.first < other.first + other.count && other.first < one.first + one.count;
}

function textOfRange({ first, count }: UserRange): string {
  return `${first} to ${first + count - 1}`;
}

/** Parses lines of `name:password:uid:…`. */
function usersOf(passwd: string): Given[] {
  return linesOf(passwd).flatMap(([name = '', , uid = '']) =>
    /^\d+$/.test(uid) ? [{ name: `the user ${name} (${uid}) of /etc/passwd`, first: Number(uid), count: 1 }] : [],
  );
}

/** Parses lines of `name:first:count`. */
function rangesOf(text: string, file: string): Given[] {
  return linesOf(text).flatMap(([name = '', first = '', count = '']) => {
    if (!/^\d+$/.test(first) || !/^\d+$/.test(count)) return [];
    const range = { first: Number(first), count: Number(count) };
    return [{ name: `the users ${textOfRange(range)} of ${name} in ${file}`, ...range }];
  });
}

function linesOf(text: string): string[][] {
  return text.split('\n').map((line) => line.split(':'));
}

/** Returns an empty string if there is no such file. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
