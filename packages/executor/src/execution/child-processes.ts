import { readFileSync } from 'node:fs';

/** Returns the children of a process, oldest first. */
export function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Returns the first child of a process; null if it has none. */
export function childOf(pid: number): number | null {
  return childrenOf(pid)[0] ?? null;
}

/** Returns the process started by bubblewrap, which waits for it. @throws Error if it has ended */
export function onlyChildOf(pid: number): number {
  const child = childOf(pid);
  if (child === null) throw new Error('the process started by bubblewrap has ended');
  return child;
}
