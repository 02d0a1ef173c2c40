import type { TaskId } from '../../domain/ids.ts';
import type { JsonValue } from '../../domain/json.ts';
import type { ModelFilter, ModelRun, ModelTarget, ReportedModel, TrackedModel } from '../../domain/model-record.ts';
import type { ChunkKey } from '../findings/port.ts';
import type { TaskState } from '../../domain/task-state.ts';

/** How a run ended. */
export interface RunEnding {
  /** Whether it looked at everything that it was to look at. */
  complete: boolean;
  /** Models of which it looked at everything: what it has not seen of them is gone. None where it is not complete. */
  covers: readonly string[];
}

/** What tasks leave behind for whoever merges it, and the merging. Every method is safe to repeat, with the same effect. */
export interface ModelBooks {
  /** Keeps records that are too many for the result of their task. */
  putChunk(key: ChunkKey, records: readonly JsonValue[]): Promise<void>;
  /** Null where there is none, or none any more. */
  readChunk(key: ChunkKey): Promise<readonly JsonValue[] | null>;
  /** Tasks of these kinds that stand before a task in its sequence, by state. */
  countTasksBefore(task_id: TaskId, kinds: readonly string[]): Promise<Partial<Record<TaskState, number>>>;
  /**
   * Begins a run of a target, or goes on with it. Runs are numbered in the order in which they begin.
   *
   * @param id the task that merges
   * @returns whether it may merge: not where it has ended and a later run has begun, since what it saw is history
   */
  beginRun(id: TaskId, target: string): Promise<{ open: boolean; run: ModelRun }>;
  /**
   * Merges what a run saw by model and key, in pages of 1,000. What one run says several times of the same thing is put
   * together: lists are united (sorted, at most 1,000 elements), of other values that differ the greatest counts.
   *
   * @throws HeddleError VALIDATION_FAILED where a model, a key or the size of the data is not valid, before anything is merged
   */
  merge(id: TaskId, models: readonly ReportedModel[]): Promise<void>;
  /** Ends a run, marks what it has missed as gone, and counts. */
  finishRun(id: TaskId, ending: RunEnding): Promise<ModelRun>;
  /** What was new, changed or gone in a run, at most `limit`. */
  runChanges(id: TaskId, limit: number): Promise<TrackedModel[]>;
}

/** What the API and data kinds do with models. */
export interface Models {
  /** Newest first, after the one with the id `after`; a page that is not full is the last. */
  list(filter: ModelFilter, page: { after: string | null; limit: number }): Promise<TrackedModel[]>;
  get(id: string): Promise<TrackedModel | null>;
  /** By name. */
  targets(page: { offset: number; limit: number }): Promise<ModelTarget[]>;
  /** By target and model the number of the latest run that looked for such models: runs may be of some sorts only. */
  latestRuns(of: Pick<ModelFilter, 'target' | 'model'>): Promise<{ target: string; model: string; number: number }[]>;
  /** Deletes what has been gone for long, old runs and old chunks; at most `limit` of each. */
  retain(limit: number): Promise<void>;
}
