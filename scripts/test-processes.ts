import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Every process of a run inherits it: `RUN/` for the runner and its checks, `RUN/FILE` for a test file and what it starts. */
export const MARK_VARIABLE = 'HEDDLE_TEST_RUN';

const POLL_MS = 50;
/** For processes that are about to end by themselves, before they are killed. */
const GRACE_MS = 5_000;
/** A killed process is gone as soon as the system comes to it. */
const KILL_DEADLINE_MS = 60_000;

interface LiveProcess {
  pid: number;
  parent: number;
  marked: boolean;
  command: string;
}

/**
 * Waits for the processes whose mark begins with this one, and for what they started; kills those that stay. Linux: where
 * there is no /proc, nothing is found.
 *
 * @returns the commands of those that were killed
 */
export async function endProcesses(mark: string, graceMs = GRACE_MS): Promise<string[]> {
  const killed = new Map<number, string>();
  const startedAt = performance.now();
  for (;;) {
    const left = processesOf(mark);
    const waitedMs = performance.now() - startedAt;
    if (left.length === 0 || waitedMs > graceMs + KILL_DEADLINE_MS) return [...killed.values()];
    if (waitedMs >= graceMs)
      for (const { pid, command } of left) {
        killed.set(pid, command);
        kill(pid);
      }
    await sleep(POLL_MS);
  }
}

function processesOf(mark: string): LiveProcess[] {
  const all = liveProcesses(`${MARK_VARIABLE}=${mark}`);
  const found = new Set(all.filter(({ pid, marked }) => marked && pid !== process.pid).map(({ pid }) => pid));
  let before = -1;
  while (found.size > before) {
    before = found.size;
    for (const { pid, parent } of all) if (found.has(parent) && pid !== process.pid) found.add(pid);
  }
  return all.filter(({ pid }) => found.has(pid));
}

function liveProcesses(setting: string): LiveProcess[] {
  return read('/proc/self/stat') === '' ? [] : readdirSync('/proc').flatMap((name) => describe(name, setting));
}

function describe(name: string, setting: string): LiveProcess[] {
  if (!/^\d+$/.test(name)) return [];
  const stat = read(`/proc/${name}/stat`);
  // The command's name stands in parentheses, and may hold some itself.
  const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (stat === '' || state === 'Z' || state === 'X') return [];
  const marked = read(`/proc/${name}/environ`)
    .split('\0')
    .some((variable) => variable.startsWith(setting));
  const command = read(`/proc/${name}/cmdline`).replaceAll('\0', ' ').trim().slice(0, 200);
  return [{ pid: Number(name), parent: Number(parent), marked, command }];
}

/** Empty where the process has gone, or is another user's. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself in the meantime.
  }
}
