import type {
  FindingDetail,
  FindingFilter,
  ReportedFinding,
  ScanRun,
  ScanTarget,
  TrackedFinding,
  TriageChange,
  TriageOutcome,
  VerifiedFinding,
} from '../../domain/finding.ts';
import type { TaskId } from '@heddle/base/ids';
import type { TaskState } from '@heddle/base/vocabulary/task-state';

/** Part of the findings of one scan attempt. */
export interface ChunkKey {
  task_id: TaskId;
  attempt: number;
  /** Counts from 0. */
  ordinal: number;
}

/** Stores scan output and merges it. Every method is idempotent. */
export interface ScanBooks {
  /** Stores findings that are too many for the result of their task. */
  putChunk(key: ChunkKey, findings: readonly ReportedFinding[]): Promise<void>;
  /** Returns null if there is none, or no longer. */
  readChunk(key: ChunkKey): Promise<readonly ReportedFinding[] | null>;
  /** Returns tasks of these kinds that precede a task in its sequence, by state. */
  countTasksBefore(task_id: TaskId, kinds: readonly string[]): Promise<Partial<Record<TaskState, number>>>;
  /**
   * Begins or continues a run of a target. Runs are numbered in the order in which they begin.
   *
   * @param id the task that merges
   * @returns whether it may merge: false if it has ended and a later run has begun, since its findings are outdated
   */
  beginRun(id: TaskId, target: string): Promise<{ open: boolean; run: ScanRun }>;
  /** Merges findings into a run; one call may hold a fingerprint several times. */
  merge(id: TaskId, findings: readonly ReportedFinding[]): Promise<void>;
  /** Keeps what providers said of findings of a target, outside of a run; returns how many of them it has. */
  verify(target: string, findings: readonly VerifiedFinding[]): Promise<number>;
  /** Ends a run. If `complete`, marks the findings that it has not seen as gone. */
  finishRun(id: TaskId, complete: boolean): Promise<ScanRun>;
}

/** Operations of the API on findings. */
export interface Findings {
  /** Returns findings, newest first, after the one with the id `after`. */
  list(filter: FindingFilter, page: { after: string | null; limit: number }): Promise<TrackedFinding[]>;
  get(id: string): Promise<FindingDetail | null>;
  /** Triages findings in one statement; the result leaves out those that do not exist. */
  triage(ids: readonly string[], change: TriageChange): Promise<TriageOutcome[]>;
  /** Sorted by name. */
  targets(page: { offset: number; limit: number }): Promise<ScanTarget[]>;
  /** Deletes expired gone findings, old runs and old chunks; at most `limit` of each. */
  retain(limit: number): Promise<void>;
}
