import {
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { processStart } from '../../../store/embedded/processes.ts';

/** Identifies a process; the start time distinguishes it from a later one with the same PID. */
export interface ProcessMark {
  readonly pid: number;
  readonly start: string;
}

/** Record of a launched runner, written before its process starts. */
export interface RunnerRecord {
  readonly runner_id: string;
  readonly batch_id: string;
  /** Name of the provider that launched it. */
  readonly provider: string;
  /** Milliseconds since the epoch. */
  readonly launched_at: number;
  /** Server that launched it. */
  readonly server: ProcessMark | null;
}

export interface EndMark {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly reason: string;
}

const RUNNER_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const RECORD = 'runner.json';
const PROCESS = 'process.json';
const END = 'ended.json';
const LOG = 'output.log';

export function markOf(pid: number): ProcessMark | null {
  const start = processStart(pid);
  return start === undefined ? null : { pid, start };
}

export function isAlive(mark: ProcessMark): boolean {
  return processStart(mark.pid) === mark.start;
}

/**
 * One directory per runner with its record, its process mark, its end mark and its output. Files are created
 * atomically. A process becomes the runner by creating the process mark, which succeeds once, and then checks that no
 * end mark exists. Ending a runner creates the end mark first and then looks up the process, so no process is missed.
 */
export class RunnerRecords {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** @throws if the directory cannot be read; a missing directory means that nothing was launched yet */
  ids(): string[] {
    try {
      return readdirSync(this.directory).filter((name) => RUNNER_ID.test(name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  }

  homeOf(runnerId: string): string {
    return join(this.directory, runnerId);
  }

  /** Returns false if the record exists. */
  create(record: RunnerRecord): boolean {
    const home = this.homeOf(record.runner_id);
    mkdirSync(home, { recursive: true });
    return createWhole(home, RECORD, record);
  }

  read(runnerId: string): RunnerRecord | null {
    return readJson(join(this.homeOf(runnerId), RECORD)) as RunnerRecord | null;
  }

  processOf(runnerId: string): ProcessMark | null {
    return readJson(join(this.homeOf(runnerId), PROCESS)) as ProcessMark | null;
  }

  /** Marks the end of a runner; the first mark is kept. */
  markEnd(runnerId: string, end: EndMark): void {
    try {
      createWhole(this.homeOf(runnerId), END, end);
    } catch (error) {
      // Nothing was started under this ID, or its directory was removed.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }

  endOf(runnerId: string): EndMark | null {
    return readJson(join(this.homeOf(runnerId), END)) as EndMark | null;
  }

  /** Returns when the directory last changed, milliseconds since the epoch; 0 if it is gone. */
  changedAt(runnerId: string): number {
    return statSync(this.homeOf(runnerId), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  }

  /** Opens the output file of a runner; the caller closes it. */
  openLog(runnerId: string): number {
    return openSync(logOf(this.homeOf(runnerId)), 'a');
  }

  /** Returns the last `bytes` of a runner's output. */
  tail(runnerId: string, bytes: number): string {
    try {
      return readFileSync(logOf(this.homeOf(runnerId)))
        .subarray(-bytes)
        .toString('utf8')
        .trim();
    } catch {
      return '';
    }
  }

  remove(runnerId: string): void {
    rmSync(this.homeOf(runnerId), { recursive: true, force: true });
  }
}

/** Returns the path of a runner's output file. */
export function logOf(home: string): string {
  return join(home, LOG);
}

/**
 * Makes this process the runner of a directory. Returns null if there is no record, another process is the runner, or
 * the runner was ended.
 */
export function becomeRunner(home: string, pid: number): RunnerRecord | null {
  const record = readJson(join(home, RECORD)) as RunnerRecord | null;
  const mark = markOf(pid);
  if (record === null || mark === null || !createWhole(home, PROCESS, mark)) return null;
  return readJson(join(home, END)) === null ? record : null;
}

/** Creates a file atomically; returns false if it exists. */
function createWhole(home: string, name: string, content: object): boolean {
  const draft = join(home, `${name}.${process.pid}.draft`);
  writeFileSync(draft, JSON.stringify(content));
  try {
    linkSync(draft, join(home, name));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Returns null if the file is missing or malformed. */
export function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

/** Rotates a log file that exceeds `bytes`, keeping one older file. */
export function boundLog(path: string, bytes: number): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= bytes) return;
  // Copied and truncated, since the writer keeps the file open.
  const older = `${path}.1`;
  const draft = `${older}.draft`;
  writeFileSync(draft, readFileSync(path).subarray(-bytes));
  renameSync(draft, older);
  closeSync(openSync(path, 'w'));
}
