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

/** A process, told from a later one with the same number. */
export interface ProcessMark {
  readonly pid: number;
  readonly start: string;
}

/** Why a runner was started; written before its process is. */
export interface RunnerRecord {
  readonly runner_id: string;
  readonly batch_id: string;
  /** What the provider is called that launched it. */
  readonly provider: string;
  /** Milliseconds since the epoch. */
  readonly launched_at: number;
  /** Who launched it. */
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
 * One directory for each runner: its record, the mark of the process that is it, the mark that it is to be over, its
 * output. Files appear whole. A process becomes a runner by making its mark, which only one can, and only where the end
 * is not marked yet; who ends a runner marks the end first and looks for the process then: so none slips through.
 */
export class RunnerRecords {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** @throws where the directory cannot be read: then nothing is known. Before the first launch there is none. */
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

  /** False where it is there already. */
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

  /** The first mark stays. */
  markEnd(runnerId: string, end: EndMark): void {
    try {
      createWhole(this.homeOf(runnerId), END, end);
    } catch (error) {
      // Nothing was started under this id, or it was cleared away.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }

  endOf(runnerId: string): EndMark | null {
    return readJson(join(this.homeOf(runnerId), END)) as EndMark | null;
  }

  /** When the directory was last changed, milliseconds since the epoch; 0 where it is gone. */
  changedAt(runnerId: string): number {
    return statSync(this.homeOf(runnerId), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  }

  /** Opens the file that takes a runner's output; the caller closes it. */
  openLog(runnerId: string): number {
    return openSync(logOf(this.homeOf(runnerId)), 'a');
  }

  /** The end of what a runner wrote. */
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

/** Where a runner's output goes. */
export function logOf(home: string): string {
  return join(home, LOG);
}

/**
 * Makes this process the runner of a directory. Null where there is none, another process is it, or it is to be over.
 */
export function becomeRunner(home: string, pid: number): RunnerRecord | null {
  const record = readJson(join(home, RECORD)) as RunnerRecord | null;
  const mark = markOf(pid);
  if (record === null || mark === null || !createWhole(home, PROCESS, mark)) return null;
  return readJson(join(home, END)) === null ? record : null;
}

/** Writes a file that is there with all of its content or not at all; false where it is there already. */
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

/** Null where the file is not there, or is not what this code writes. */
function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

/** Keeps a file that others append to from growing: beyond `bytes`, what there is becomes the one older part. */
export function boundLog(path: string, bytes: number): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= bytes) return;
  // Copied and cut, since whoever writes keeps the file open.
  const older = `${path}.1`;
  const draft = `${older}.draft`;
  writeFileSync(draft, readFileSync(path).subarray(-bytes));
  renameSync(draft, older);
  closeSync(openSync(path, 'w'));
}
