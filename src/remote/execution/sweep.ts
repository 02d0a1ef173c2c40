import { readdirSync, readFileSync } from 'node:fs';

import type { Clock } from '../../runtime/clock.ts';

/** In the environment of every process of a task, and of whatever it starts. */
export const MARKER = 'HEDDLE_TASK_PROCESS';
const SWEEP_MS_MAX = 5_000;
const BETWEEN_MS = 2;

/** How processes that belong to a task are known. */
export interface Belonging {
  /** Nobody else runs as this user; null where the task has no user of its own. */
  readonly user: number | null;
  /** Value of the marker. */
  readonly marker: string;
}

/**
 * Kills what a task left running, in whatever session or group, until nothing is left.
 *
 * @param look what is left @returns how many were killed
 */
export async function sweepProcesses(look: () => number[], clock: Clock): Promise<number> {
  if (process.platform !== 'linux') return 0;
  const until = clock.monotonic() + SWEEP_MS_MAX;
  const killed = new Set<number>();
  for (;;) {
    const left = look();
    if (left.length === 0) return killed.size;
    // All are stopped before any is killed, so that none can start another one meanwhile.
    for (const signal of ['SIGSTOP', 'SIGKILL'] as const) for (const pid of left) send(pid, signal);
    for (const pid of left) killed.add(pid);
    if (clock.monotonic() > until) return killed.size;
    await clock.sleep(BETWEEN_MS);
  }
}

/** Ids of what runs; what has ended and waits for its parent to look does not count. */
export function processesOf({ user, marker }: Belonging): number[] {
  const found: number[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    if (user === null ? hasMarker(name, marker) : runsAs(name, user)) found.push(pid);
  }
  return found;
}

/** Ends what a process started and what that started, as long as the chain of parents is whole. */
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
    // It has ended.
  }
}
