import { spawn } from 'node:child_process';
import { createReadStream, readFileSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { openSync, closeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { ScanRun } from '../subject.ts';

const TICKS_PER_SECOND = 100;
const LOOK_MS = 20;

/** CPU time of ended child processes, in milliseconds. */
function childrenCpuMs(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // cutime and cstime, fields 16 and 17 of proc(5).
  return ((Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND) * 1000;
}

/** Sum of the peak memory of a process and its children, MiB. */
function peakMib(pid: number): number {
  try {
    const own = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
    const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number),
    );
    return own + children.reduce((total, child) => total + peakMib(child), 0);
  } catch {
    return 0; // It has ended meanwhile.
  }
}

/**
 * Runs a command to completion and counts the lines of its output.
 * @throws if its exit code is not among `codes`
 */
export async function measureCommand(
  command: readonly string[],
  options: { codes: readonly number[]; cwd?: string; onLine?: (line: string) => unknown },
): Promise<ScanRun> {
  const directory = await mkdtemp(join(tmpdir(), 'heddle-bench-scan-'));
  const path = join(directory, 'output');
  const file = openSync(path, 'w');
  const cpuBefore = childrenCpuMs();
  const startedAt = performance.now();
  const child = spawn(command[0]!, command.slice(1), { stdio: ['ignore', file, 'pipe'], cwd: options.cwd });
  let peak = 0;
  let complaint = '';
  child.stderr!.on('data', (text: Buffer) => (complaint = (complaint + text.toString()).slice(-2000)));
  const looking = setInterval(() => (peak = Math.max(peak, child.pid === undefined ? 0 : peakMib(child.pid))), LOOK_MS);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', resolve);
    });
    const wall_ms = performance.now() - startedAt;
    if (code === null || !options.codes.includes(code))
      throw new Error(`${command[0]} ended with ${code}: ${complaint}`);
    let lines = 0;
    for await (const line of createInterface({ input: createReadStream(path) })) {
      lines += 1;
      options.onLine?.(line);
    }
    return { wall_ms, cpu_ms: childrenCpuMs() - cpuBefore, peak_mib: peak, lines };
  } finally {
    clearInterval(looking);
    closeSync(file);
    await rm(directory, { recursive: true, force: true });
  }
}
