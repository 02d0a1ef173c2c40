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

/** Period of the kernel's scheduler in which a group has its share, microseconds. */
const PERIOD_US = 100_000;

/** Cgroups, if this process may create them. They cover memory that per-process limits do not count, and processors. */
export class ControlGroups {
  readonly #directory: string;
  readonly #files: Files;
  readonly #clock: Clock;
  /** Where groups limit processors: in version 2 the same directory. Null if this process may not limit them. */
  #processors: string | null = null;
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
        groups.#processors = files === VERSION_2 ? directoryOfVersion2(directory) : directoryOfVersion1(name);
        return groups;
      } catch {
        // The controller is not delegated to this process.
      }
      groups.close();
    }
    return null;
  }

  /** Whether `make` limits processors. */
  get limitsProcessors(): boolean {
    return this.#processors !== null;
  }

  /**
   * @param processors number of them that its processes may use; null: all
   * @throws Error if the kernel rejects it
   */
  make(slot: number, memoryMb: number, processors: number | null = null): ControlGroup {
    this.#created += 1;
    const name = `${slot}-${this.#created}`;
    const directory = join(this.#directory, name);
    mkdirSync(directory);
    const second = processors === null ? null : this.#limitProcessors(name, processors);
    const directories = second === null ? [directory] : [second, directory];
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
        for (const each of directories) await writeFile(join(each, 'cgroup.procs'), String(pid));
      },
      wasOutOfMemory: () => this.#files.kills(directory) > 0,
      memoryUse: () => memoryUseOf(bytesIn(join(directory, this.#files.peak)), memoryMb * MIB),
      processes: () => processesIn(directory),
      kill: () => killAll(directory),
      remove: async () => {
        for (const each of directories.toReversed()) await this.#remove(each);
      },
    };
  }

  /** Returns the directory of a second group that does it; null if the first one does. */
  #limitProcessors(name: string, processors: number): string | null {
    const quotaUs = String(processors * PERIOD_US);
    if (this.#processors === null) return null;
    const directory = join(this.#processors, name);
    if (this.#files === VERSION_2) {
      writeFileSync(join(directory, 'cpu.max'), `${quotaUs} ${PERIOD_US}`);
      return null;
    }
    mkdirSync(directory);
    writeFileSync(join(directory, 'cpu.cfs_quota_us'), quotaUs);
    return directory;
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
    for (const directory of new Set([this.#directory, this.#processors ?? this.#directory])) {
      try {
        rmdirSync(directory);
      } catch {
        // A process in it has not ended yet; only the kernel holds it.
      }
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

/** Returns the directory if its groups may limit processors. */
function directoryOfVersion2(directory: string): string | null {
  try {
    writeFileSync(join(directory, 'cgroup.subtree_control'), '+cpu');
    return directory;
  } catch {
    return null;
  }
}

/** Makes the directory of groups that limit processors; null if this process may not. */
function directoryOfVersion1(name: string): string | null {
  const mounted = mountedHierarchies().find(({ controllers }) => controllers?.includes('cpu') === true);
  if (mounted === undefined) return null;
  clearStale(mounted.path, name);
  try {
    const directory = join(mounted.path, name);
    mkdirSync(directory);
    if (existsSync(join(directory, 'cpu.cfs_quota_us'))) return directory;
    rmdirSync(directory);
  } catch {
    // The controller is not delegated to this process.
  }
  return null;
}

interface Hierarchy {
  /** Group of this process. */
  readonly path: string;
  /** Null in version 2, where a directory has all controllers. */
  readonly controllers: readonly string[] | null;
}

function mountedHierarchies(): Hierarchy[] {
  const own = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n');
  const groups = own.map((line) => line.split(':'));
  const pathOf = (controller: string): string =>
    groups.find(([, controllers = '']) => controllers.split(',').includes(controller))?.[2] ?? '/';
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line): Hierarchy[] => {
      const [left = '', right = ''] = line.split(' - ');
      const mountPoint = left.split(' ')[4] ?? '';
      const [type, , flags = ''] = right.split(' ');
      if (type === 'cgroup2') return [{ path: join(mountPoint, pathOf('')), controllers: null }];
      if (type !== 'cgroup') return [];
      const controllers = flags.split(',');
      const known = controllers.find((flag) => groups.some(([, names = '']) => names.split(',').includes(flag)));
      return known === undefined ? [] : [{ path: join(mountPoint, pathOf(known)), controllers }];
    });
}

function* candidates(): Iterable<readonly [string, Files]> {
  for (const { path, controllers } of mountedHierarchies()) {
    if (controllers === null) yield [path, VERSION_2];
    else if (controllers.includes('memory')) yield [path, VERSION_1];
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
  try {
    // Version 2 kills all of them at once, so that none can start another meanwhile.
    writeFileSync(join(directory, 'cgroup.kill'), '1', { flag: 'r+' });
    return;
  } catch {
    // Version 1, or a kernel before 5.14.
  }
  for (const pid of processesIn(directory)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The process has ended.
    }
  }
}
