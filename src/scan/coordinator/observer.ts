import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { LiveCounts } from '../graph/live.ts';
import type { Finding, Problem, ScanProgress } from '../result.ts';

/** Who a scan reports to. Findings and problems come in the order of the objects; a promise is awaited before the next one. */
export interface ScanObserver {
  onFinding(finding: Finding): void | Promise<void>;
  onProblem(problem: Problem): void | Promise<void>;
  /** A few times a second, and at the end. */
  onProgress?(progress: ScanProgress): void;
}

/** What a scan runs in. */
export interface ScanEnvironment {
  clock: Clock;
  log?: Logger;
  /** Ends the run: its outcome is `aborted`. */
  signal?: AbortSignal;
  /** A file in which the run's state is kept: a run that was interrupted goes on where it was. */
  statePath?: string;
  /** The module that worker threads begin with; theirs by default. */
  workerEntry?: URL;
  /** What each thread still holds when it ends, this one last: all zero, however the run ended. */
  onThreadEnd?(live: LiveCounts): void;
}
