import { readdirSync, readFileSync } from 'node:fs';

import type { Clock } from '@heddle/base/clock';

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

/** Kills the descendants of a process, as far as the chain of parents is intact. */
export function killDescendants(pid: number): void {
  const children = read(`/proc/${pid}/task/${pid}/children`)?.split(' ').filter(Boolean) ?? [];
  for (const child of children) {
    send(Number(child), 'SIGSTOP');
    killDescendants(Number(child));
    send(Number(child), 'SIGKILL');
  }
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

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended.
  }
}
