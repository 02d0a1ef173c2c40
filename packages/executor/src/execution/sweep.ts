import { readdirSync, readFileSync } from 'node:fs';

import type { Clock } from '@heddle/base/clock';
import type { ControlGroup } from './control-groups.ts';
import type { Slot } from './slots.ts';

/** Environment variable of every task process, inherited by its descendants. */
export const MARKER = 'HEDDLE_TASK_PROCESS';
const SWEEP_MS_MAX = 5_000;
const BETWEEN_MS = 2;

/** Criteria that identify the processes of a task. */
export interface Belonging {
  /** Exclusive user of the task; null if it shares one. */
  readonly user: number | null;
  /** Value of the marker. */
  readonly marker: string;
}

/**
 * Kills leftover processes of a task, in any session or group, until none is left.
 *
 * @param findLeft returns the remaining process ids @returns the number of processes killed
 */
export async function sweepProcesses(findLeft: () => number[], clock: Clock): Promise<number> {
  if (process.platform !== 'linux') return 0;
  const until = clock.monotonic() + SWEEP_MS_MAX;
  const killed = new Set<number>();
  for (;;) {
    const left = findLeft();
    if (left.length === 0) return killed.size;
    // Stops all of them before killing any, so that none can start another meanwhile.
    for (const signal of ['SIGSTOP', 'SIGKILL'] as const) for (const pid of left) send(pid, signal);
    for (const pid of left) killed.add(pid);
    if (clock.monotonic() > until) return killed.size;
    await clock.sleep(BETWEEN_MS);
  }
}

/** Returns the ids of running processes; zombies do not count. */
export function processesOf({ user, marker }: Belonging): number[] {
  const found: number[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    if (user === null ? hasMarker(name, marker) : runsAs(name, user)) found.push(pid);
  }
  return found;
}

/**
 * Returns leftover processes of a task. No process can leave a group owned by another user, and reading it takes one
 * small file; otherwise all processes of the machine are inspected.
 */
export function leftOf({ user }: Slot, marker: string, group: ControlGroup | null): number[] {
  return user !== null && group !== null ? group.processes() : processesOf({ user, marker });
}

/** Returns the descendants of a process, as far as the chain of parents is intact, parents first. */
export function descendantsOf(pid: number): number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`)?.split(' ').filter(Boolean).map(Number) ?? [];
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}

/** Kills the descendants of a process, as far as the chain of parents is intact. */
export function killDescendants(pid: number): void {
  const children = read(`/proc/${pid}/task/${pid}/children`)?.split(' ').filter(Boolean) ?? [];
  for (const child of children) {
    send(Number(child), 'SIGSTOP');
    killDescendants(Number(child));
    send(Number(child), 'SIGKILL');
  }
}

/** Returns the name of a process's program, at most 15 characters; null if it has ended. */
export function nameOf(pid: number): string | null {
  return read(`/proc/${pid}/comm`)?.trim() ?? null;
}

function runsAs(pid: string, user: number): boolean {
  const status = read(`/proc/${pid}/status`);
  return status !== null && new RegExp(`^Uid:\\s${user}\\s`, 'm').test(status) && !/^State:\s[ZX]/m.test(status);
}

function hasMarker(pid: string, marker: string): boolean {
  return read(`/proc/${pid}/environ`)?.split('\0').includes(`${MARKER}=${marker}`) ?? false;
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

export function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended.
  }
}
