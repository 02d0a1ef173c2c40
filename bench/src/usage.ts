import { readdirSync, readFileSync } from 'node:fs';
import type { Measurement } from './results.ts';

/** What work has cost so far: processor time of a subject's process and of the server, and WAL. */
export interface Usage {
  client_cpu_ms: number | null;
  server_cpu_ms: number | null;
  wal_bytes: number | null;
}

const NS_PER_MS = 1_000_000;
/** Linux counts the time of ended processes in hundredths of a second. */
const MS_PER_TICK = 10;

/** Processor time of a process with all its threads, user and system; null without /proc. */
export function processCpuMs(pid: number): number | null {
  const threads = entriesOf(`/proc/${pid}/task`);
  if (threads.length === 0) return null;
  return threads.reduce((sum, thread) => sum + scheduledMs(`/proc/${pid}/task/${thread}/schedstat`), 0);
}

/** Processor time of a PostgreSQL server: its postmaster, its processes, and those that have ended. */
export function serverCpuMs(pid: number): number | null {
  const own = processCpuMs(pid);
  if (own === null) return null;
  const ended = statOf(pid);
  const children = entriesOf('/proc').filter((name) => /^\d+$/.test(name) && statOf(Number(name)).parent === pid);
  return children.reduce((sum, child) => sum + (processCpuMs(Number(child)) ?? 0), own + ended.children_ms);
}

/** What one task cost between two readings, as far as it is known. */
export function usagePerTask(bench: string, prefix: string, count: number, before: Usage, after: Usage): Measurement[] {
  const metrics: [string, number | null, number | null, number][] = [
    ['server_cpu_us', before.server_cpu_ms, after.server_cpu_ms, 1000],
    ['client_cpu_us', before.client_cpu_ms, after.client_cpu_ms, 1000],
    ['wal_bytes', before.wal_bytes, after.wal_bytes, 1],
  ];
  return metrics.flatMap(([metric, from, to, scale]) =>
    from === null || to === null
      ? []
      : [{ bench, metric: `${prefix}_${metric}`, value: ((to - from) * scale) / count }],
  );
}

function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** A thread may end between the listing and the reading. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function scheduledMs(path: string): number {
  return Number(readIfThere(path).split(' ')[0]) / NS_PER_MS;
}

/** The fields after the name of the program, which may hold spaces: state, parent, … */
function statOf(pid: number): { parent: number; children_ms: number } {
  const text = readIfThere(`/proc/${pid}/stat`);
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[13] ?? 0) + Number(fields[14] ?? 0);
  return { parent: Number(fields[1] ?? 0), children_ms: ticks * MS_PER_TICK };
}
