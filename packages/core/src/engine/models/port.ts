import type { TaskId } from '@heddle/base/ids';
import type { JsonValue } from '@heddle/base/json';
import type { ModelFilter, ModelRun, ModelTarget, ReportedModel, TrackedModel } from '../../domain/model-record.ts';
import type { ChunkKey } from '../findings/port.ts';
import type { TaskState } from '@heddle/base/vocabulary/task-state';

/** End of a run. */
export interface RunEnding {
  /** Whether it covered everything that it was meant to cover. */
  complete: boolean;
  /** Models covered completely: their records not seen in this run are gone. Empty if the run is not complete. */
  covers: readonly string[];
}

/** Stores output of tasks and merges it. Every method is idempotent. */
export interface ModelBooks {
  /** Stores records that are too many for the result of their task. */
  putChunk(key: ChunkKey, records: readonly JsonValue[]): Promise<void>;
  /** Returns null if there is none, or no longer. */
  readChunk(key: ChunkKey): Promise<readonly JsonValue[] | null>;
  /** Returns tasks of these kinds that precede a task in its sequence, by state. */
  countTasksBefore(task_id: TaskId, kinds: readonly string[]): Promise<Partial<Record<TaskState, number>>>;
  /**
   * Begins or continues a run of a target. Runs are numbered in the order in which they begin.
   *
   * @param id the task that merges
   * @returns whether it may merge: false if it has ended and a later run has begun, since its records are outdated
   */
  beginRun(id: TaskId, target: string): Promise<{ open: boolean; run: ModelRun }>;
  /**
   * Merges the records of a run by model and key, in pages of 1,000. Repeated records within a run are combined: lists
   * are united (sorted, at most 1,000 elements), and of other differing values the greatest counts.
   *
   * @throws HeddleError VALIDATION_FAILED if a model, a key or the size of the data is invalid, before anything is
   * merged
   */
  merge(id: TaskId, models: readonly ReportedModel[]): Promise<void>;
  /** Ends a run, marks missing records as gone, and returns the counts. */
  finishRun(id: TaskId, ending: RunEnding): Promise<ModelRun>;
  /** Returns what was new, changed or gone in a run, at most `limit`. */
  runChanges(id: TaskId, limit: number): Promise<TrackedModel[]>;
}

/** Operations of the API and of data kinds on models. */
export interface Models {
  /** Returns records, newest first, after the one with the id `after`; a page that is not full is the last. */
  list(filter: ModelFilter, page: { after: string | null; limit: number }): Promise<TrackedModel[]>;
  get(id: string): Promise<TrackedModel | null>;
  /** Sorted by name. */
  targets(page: { offset: number; limit: number }): Promise<ModelTarget[]>;
  /**
   * Returns by target and model the number of the latest run that covered the model; a run may cover only some models.
   */
  latestRuns(of: Pick<ModelFilter, 'target' | 'model'>): Promise<{ target: string; model: string; number: number }[]>;
  /** Deletes expired gone records, old runs and old chunks; at most `limit` of each. */
  retain(limit: number): Promise<void>;
}
