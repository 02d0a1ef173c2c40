import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Clock } from '@heddle/base/clock';

const MIB = 1024 * 1024;
const REMOVE_MS_MAX = 2_000;
const BETWEEN_MS = 5;

/** Peak memory relative to half of the limit; unknown if the kernel does not report it. */
export type MemoryUse = 'little' | 'much' | 'unknown';

/** File names of one version of the kernel's cgroup interface. */
interface Files {
  readonly limits: readonly (readonly [file: string, value: (bytes: number) => string])[];
  readonly kills: (directory: string) => number;
  readonly peak: string;
}

const VERSION_1: Files = {
  limits: [
    ['memory.limit_in_bytes', String],
    ['memory.swappiness', () => '0'],
    ['memory.memsw.limit_in_bytes', String],
  ],
  kills: (directory) => countIn(join(directory, 'memory.oom_control')),
  peak: 'memory.max_usage_in_bytes',
};

const VERSION_2: Files = {
  limits: [
    ['memory.max', String],
    ['memory.swap.max', () => '0'],
    ['memory.oom.group', () => '1'],
  ],
  kills: (directory) => countIn(join(directory, 'memory.events')),
  peak: 'memory.peak',
};

/** Memory group of one task process and its descendants. */
export interface ControlGroup {
  /** Adds a process, whose memory counts once this resolves. @throws Error if there is no such process */
  admit(pid: number): Promise<void>;
  /** Returns whether the kernel killed a process in the group for its memory. */
  wasOutOfMemory(): boolean;
  memoryUse(): MemoryUse;
  /** Returns the ids of the running processes. */
  processes(): number[];
  /** Kills all processes in the group. */
  kill(): void;
  remove(): Promise<void>;
}

/** Memory cgroups, if this process may create them. They cover memory that per-process limits do not count. */
export class ControlGroups {
  readonly #directory: string;
  readonly #files: Files;
  readonly #clock: Clock;
  #created = 0;

  private constructor(directory: string, files: Files, clock: Clock) {
    this.#directory = directory;
    this.#files = files;
    this.#clock = clock;
  }

  /** @returns null if this process cannot create groups, which weakens no guarantee of a tier */
  static open(clock: Clock, name: string): ControlGroups | null {
    for (const [parent, files] of candidates()) {
      const directory = join(parent, name);
      clearStale(parent, name);
      try {
        mkdirSync(directory);
      } catch {
        continue;
      }
      const groups = new ControlGroups(directory, files, clock);
      try {
        if (files === VERSION_2) writeFileSync(join(directory, 'cgroup.subtree_control'), '+memory');
        groups.make(0, 64);
        rmdirSync(join(directory, `0-${groups.#created}`));
        return groups;
      } catch {
        // The controller is not delegated to this process.
      }
      groups.close();
    }
    return null;
  }

  /** @throws Error if the kernel rejects it */
  make(slot: number, memoryMb: number): ControlGroup {
    this.#created += 1;
    const directory = join(this.#directory, `${slot}-${this.#created}`);
    mkdirSync(directory);
    for (const [file, value] of this.#files.limits) {
      const path = join(directory, file);
      // Swap accounting is not available on every machine.
      if (existsSync(path)) writeFileSync(path, value(memoryMb * MIB));
    }
    return {
      admit: async (pid) => {
        // Pid 0 would add this process itself, which would then be killed with the task.
        if (!Number.isSafeInteger(pid) || pid < 1) throw new Error(`invalid process id ${pid}`);
        // Takes about 10 ms, because the kernel synchronizes all processors.
        await writeFile(join(directory, 'cgroup.procs'), String(pid));
      },
      wasOutOfMemory: () => this.#files.kills(directory) > 0,
      memoryUse: () => memoryUseOf(bytesIn(join(directory, this.#files.peak)), memoryMb * MIB),
      processes: () => processesIn(directory),
      kill: () => killAll(directory),
      remove: () => this.#remove(directory),
    };
  }

  async #remove(directory: string): Promise<void> {
    const until = this.#clock.monotonic() + REMOVE_MS_MAX;
    for (;;) {
      try {
        rmdirSync(directory);
        return;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
        if (this.#clock.monotonic() > until) throw error;
      }
      // The kernel needs some time to notice that the last process has ended.
      killAll(directory);
      await this.#clock.sleep(BETWEEN_MS);
    }
  }

  close(): void {
    try {
      rmdirSync(this.#directory);
    } catch {
      // A process in it has not ended yet; only the kernel holds it.
    }
  }
}

/** Removes groups of killed executors, whose names end with the process id and a random part. */
function clearStale(parent: string, name: string): void {
  const [, stem] = /^(.*-)\d+-[^-]+$/.exec(name) ?? [];
  if (stem === undefined || !existsSync(parent)) return;
  for (const other of readdirSync(parent)) {
    const pid = other.startsWith(stem) ? /^(\d+)-/.exec(other.slice(stem.length))?.[1] : undefined;
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    try {
      for (const entry of readdirSync(join(parent, other), { withFileTypes: true })) {
        if (entry.isDirectory()) rmdirSync(join(parent, other, entry.name));
      }
      rmdirSync(join(parent, other));
    } catch {
      // A process is still running in it, or another executor removed it.
    }
  }
}

function* candidates(): Iterable<readonly [string, Files]> {
  const own = readFileSync('/proc/self/cgroup', 'utf8');
  const paths = new Map(
    own
      .trim()
      .split('\n')
      .map((line) => [line.split(':')[1], line.split(':')[2]] as const),
  );
  for (const line of readFileSync('/proc/self/mountinfo', 'utf8').split('\n')) {
    const [left = '', right = ''] = line.split(' - ');
    const mountPoint = left.split(' ')[4] ?? '';
    const [type, , flags = ''] = right.split(' ');
    if (type === 'cgroup' && flags.split(',').includes('memory')) {
      yield [join(mountPoint, paths.get('memory') ?? '/'), VERSION_1];
    } else if (type === 'cgroup2') yield [join(mountPoint, paths.get('') ?? '/'), VERSION_2];
  }
}

function countIn(file: string): number {
  try {
    return Number(/^oom_kill (\d+)/m.exec(readFileSync(file, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

function bytesIn(file: string): number | null {
  try {
    return Number(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

function memoryUseOf(peakBytes: number | null, bytesMax: number): MemoryUse {
  if (peakBytes === null) return 'unknown';
  return peakBytes < bytesMax / 2 ? 'little' : 'much';
}

function processesIn(directory: string): number[] {
  try {
    return readFileSync(join(directory, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function killAll(directory: string): void {
  for (const pid of processesIn(directory)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The process has ended.
    }
  }
}
