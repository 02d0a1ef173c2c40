import type { Tier } from '../protocol/messages.ts';
import type { EventCode } from './port.ts';
import type { ProcessTraces } from './outcome.ts';
import type { WorkerProcess } from './worker-process.ts';

/** A process started by a launcher, with its resources outside the process. */
export interface TaskProcess {
  readonly worker: WorkerProcess;
  /** Lowers its priority while no task waits for it. */
  lowerPriority(): void;
  /** Restores its priority for a waiting task. */
  restorePriority(): void;
  /** Returns the URL of a module as seen by the process. */
  urlOf(code: EventCode): Promise<string> | string;
  /** Applies the limits that hold from here on; called once it is ready and before it gets a job. */
  confine(): Promise<void>;
  traces(): ProcessTraces;
  /** Returns whether it has child processes. */
  hasStrays(): boolean;
  /** Kills the process and its descendants. */
  kill(): void;
  /** Resolves once all processes, directories and slots are released. Never rejects. */
  readonly gone: Promise<void>;
}

/** Starts processes of one tier. */
export interface Launcher {
  readonly tier: Tier;
  /**
   * @param code the code that it will load; null if not known yet
   * @param behind whether it starts at low priority
   */
  start(code: EventCode | null, memoryMb: number, behind: boolean): Promise<TaskProcess>;
  /** Frees resources, once all started processes are gone. */
  close(): Promise<void>;
}
