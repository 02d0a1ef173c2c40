import { readFileSync } from 'node:fs';

/** Returns the first child of a process; null if it has none. */
export function childOf(pid: number): number | null {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0]) || null;
  } catch {
    return null;
  }
}

/** Returns the process started by bubblewrap, which waits for it. @throws Error if it has ended */
export function onlyChildOf(pid: number): number {
  const child = childOf(pid);
  if (child === null) throw new Error('the process started by bubblewrap has ended');
  return child;
}
