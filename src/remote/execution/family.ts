import { readFileSync } from 'node:fs';

/** The first process that another one started; null where there is none, any more or yet. */
export function childOf(pid: number): number | null {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0]) || null;
  } catch {
    return null;
  }
}

/** The process behind bubblewrap, which itself waits for it. @throws Error where it has ended */
export function onlyChildOf(pid: number): number {
  const child = childOf(pid);
  if (child === null) throw new Error('the process behind bubblewrap has ended');
  return child;
}
