import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/logger';
import type { ExplainTarget, LineExplanation } from '../detect/explain/line-explanation.ts';
import type { LiveCounts } from '../graph/live.ts';
import type { Finding, Problem, ScanProgress } from '../result.ts';

/**
 * Receives the results of a scan. Findings and problems arrive in the order of the objects; a returned promise is
 * awaited before the next one.
 */
export interface ScanObserver {
  /** Called once for each finding, before it is verified. False: it is not passed on, nor verified. */
  accepts?(finding: Finding): boolean;
  onFinding(finding: Finding): void | Promise<void>;
  onProblem(problem: Problem): void | Promise<void>;
  /** Resolves once everything was handled; called after the last result. */
  settle?(): Promise<void>;
  /** Called a few times per second, and at the end. */
  onProgress?(progress: ScanProgress): void;
}

/** The environment of a scan. */
export interface ScanEnvironment {
  clock: Clock;
  log?: Logger;
  /** Aborts the run: its outcome is `aborted`. */
  signal?: AbortSignal;
  /** File that keeps the run's state, so that an interrupted run can resume. */
  statePath?: string;
  /** Bytes of the segments of large objects, which several threads scan; even, and at least `chunkBytes`. */
  segmentBytes?: number;
  /** Bytes of work after which all threads start, instead of one; 0: at once. */
  workBytesMin?: number;
  /** Entry module of the worker threads; their own by default. */
  workerEntry?: URL;
  /** Scans small inputs in this thread, without starting others: for a process that does nothing else. */
  usesOwnThread?: boolean;
  /** Scans nothing but the object of one line, and explains that line. */
  explain?: ExplainTarget & { onExplained(explanation: LineExplanation): void };
  /** Receives the resources each thread still holds when it ends, this thread last: all zero, however the run ended. */
  onThreadEnd?(live: LiveCounts): void;
}
