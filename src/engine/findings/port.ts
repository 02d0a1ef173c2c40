import type {
  FindingFilter,
  ReportedFinding,
  ScanRun,
  ScanTarget,
  TrackedFinding,
  TriageChange,
} from '../../domain/finding.ts';
import type { TaskId } from '../../domain/ids.ts';
import type { TaskState } from '../../domain/task-state.ts';

/** Part of what one attempt of a scan found. */
export interface ChunkKey {
  task_id: TaskId;
  attempt: number;
  /** From 0. */
  ordinal: number;
}

/** What scans leave behind, and who merges it. Every method is safe to repeat, with the same effect. */
export interface ScanBooks {
  /** Keeps findings that are too many for the result of their task. */
  putChunk(key: ChunkKey, findings: readonly ReportedFinding[]): Promise<void>;
  /** Null where there is none, or none any more. */
  readChunk(key: ChunkKey): Promise<readonly ReportedFinding[] | null>;
  /** Tasks of these kinds that stand before a task in its sequence, by state. */
  countTasksBefore(task_id: TaskId, kinds: readonly string[]): Promise<Partial<Record<TaskState, number>>>;
  /**
   * Begins a run of a target, or goes on with it. Runs are numbered in the order in which they begin.
   *
   * @param id the task that merges
   * @returns whether it may merge: not where it has ended and a later run has begun, since its findings are history
   */
  beginRun(id: TaskId, target: string): Promise<{ open: boolean; run: ScanRun }>;
  /** Merges findings into a run that was begun; those of one call may hold a fingerprint several times. */
  merge(id: TaskId, findings: readonly ReportedFinding[]): Promise<void>;
  /**
   * Ends a run. What it has not seen is gone where `complete` says that it looked at everything.
   */
  finishRun(id: TaskId, complete: boolean): Promise<ScanRun>;
}

/** What the API does with findings. */
export interface Findings {
  /** Newest first, after the one with the id `after`. */
  list(filter: FindingFilter, page: { after: string | null; limit: number }): Promise<TrackedFinding[]>;
  get(id: string): Promise<TrackedFinding | null>;
  /** Null where there is no such finding. */
  triage(id: string, change: TriageChange): Promise<TrackedFinding | null>;
  /** By name. */
  targets(page: { offset: number; limit: number }): Promise<ScanTarget[]>;
  /** Deletes what has been gone for long, old runs and old chunks; at most `limit` of each. */
  retain(limit: number): Promise<void>;
}
