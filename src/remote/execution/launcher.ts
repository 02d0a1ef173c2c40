import type { Tier } from '../protocol/messages.ts';
import type { EventCode } from './port.ts';
import type { ProcessTraces } from './outcome.ts';
import type { WorkerProcess } from './worker-process.ts';

/** A process that a launcher started, with what belongs to it outside of the process. */
export interface TaskProcess {
  readonly worker: WorkerProcess;
  /** Nobody waits for it: it leaves the processor to others. */
  stepBehind(): void;
  /** Somebody waits for it. */
  stepUp(): void;
  /** Where the process finds a module of some code. */
  urlOf(code: EventCode): Promise<string> | string;
  /** To be called once it is ready and before it gets a job: limits that hold from here on. */
  confine(): Promise<void>;
  traces(): ProcessTraces;
  /** Whether it runs other processes beside its own. */
  hasStrays(): boolean;
  /** Ends it, and everything that came of it. */
  kill(): void;
  /** Nothing of it is left: processes, directories, seats. Never rejects. */
  readonly gone: Promise<void>;
}

/** Starts processes of one tier. */
export interface Launcher {
  readonly tier: Tier;
  /**
   * @param code what it will be asked to load; null where that is not known yet
   * @param behind whether it leaves the processor to others until it steps up
   */
  start(code: EventCode | null, memoryMb: number, behind: boolean): Promise<TaskProcess>;
  /** Once all that it started are gone. */
  close(): Promise<void>;
}
