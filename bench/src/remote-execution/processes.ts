import { readFileSync } from 'node:fs';

/** Reads processes from /proc (Linux). Ended processes read as empty. */

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function childrenOf(pid: number): number[] {
  return read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
}

/** All descendants of a process, without itself. */
export function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

export interface ProcessStat {
  parent: number;
  /** User and system, ticks of the kernel's clock: 10 ms. */
  cpu_ticks: number;
  /** Together with the id it identifies a process, because ids are reused. */
  started_at: number;
  /** It has ended and is not reaped yet. */
  zombie: boolean;
}

export function statOf(pid: number): ProcessStat | null {
  const text = read(`/proc/${pid}/stat`);
  // The name in parentheses may contain anything.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  if (fields.length < 20) return null;
  return {
    parent: Number(fields[1]),
    cpu_ticks: Number(fields[11]) + Number(fields[12]),
    started_at: Number(fields[19]),
    zombie: fields[0] === 'Z' || fields[0] === 'X',
  };
}

/** Resident memory of a process, MiB: current and peak. */
export function residentOf(pid: number): { now: number; peak: number } {
  const text = read(`/proc/${pid}/status`);
  const mib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) / 1024;
  return { now: mib('VmRSS'), peak: mib('VmHWM') };
}
