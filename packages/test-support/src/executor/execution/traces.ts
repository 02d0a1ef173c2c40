import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';

import { firstSlotUser } from '@heddle/executor/internal/execution/slots';

const USERS = 64;

/** What an executor's tasks could leave on this machine. */
export interface Traces {
  readonly processes: readonly number[];
  readonly mounts: number;
  readonly descriptors: number;
  readonly directories: readonly string[];
  readonly groups: readonly string[];
}

export function traces(): Traces {
  return {
    processes: processesOfTasks(),
    mounts: countMounts(),
    descriptors: readdirSync('/proc/self/fd').length,
    directories: readdirSync(tmpdir()).filter((name) => name.includes(`-${process.pid}-`)),
    groups: groupsOfThis(),
  };
}

/** Returns the number of mounts, except those of containers, which other test files run meanwhile. */
export function countMounts(): number {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  return mounts.filter((mount) => !/\/containers\/|\/netns\//.test(mount)).length;
}

/** Returns the processes of this process's task users, or, without such users, its descendants. */
export function processesOfTasks(): number[] {
  const first = firstSlotUser();
  if (first === null) return tasksOf(process.pid);
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return pids.filter((pid) => {
    const user = userOf(pid);
    return user !== null && user >= first && user < first + USERS;
  });
}

/** Returns the user of a running process; null if it has ended or is a zombie. */
function userOf(pid: number): number | null {
  try {
    const [, state = '', user = ''] = /^State:\s(\S)[^]*^Uid:\s(\d+)\s/m.exec(
      readFileSync(`/proc/${pid}/status`, 'utf8'),
    )!;
    return 'ZX'.includes(state) ? null : Number(user);
  } catch {
    return null;
  }
}

/** Returns the running descendants of an executor, except starter processes. */
export function tasksOf(pid: number): number[] {
  return childrenOf(pid).filter((child) => !isStarter(child));
}

export function isStarter(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('/starter.cjs');
  } catch {
    return false;
  }
}

/** Returns the running descendants of a process. */
export function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter(Boolean)
    .map(Number);
  return children.flatMap((child) => {
    try {
      return [child, ...childrenOf(child)];
    } catch {
      return [];
    }
  });
}

function groupsOfThis(): string[] {
  try {
    const own = /^\d+:(?:[^:]*,)?memory[^:]*:(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] ?? '';
    return readdirSync(`/sys/fs/cgroup/memory${own}`).filter((name) => name.includes(`-${process.pid}-`));
  } catch {
    return [];
  }
}
