import type { WorkflowId } from '@heddle/base/ids';
import type { JsonObject } from '@heddle/base/json';
import type { Run, RunState, RunType } from '@heddle/base/vocabulary/run';
import type { GridCell, GridRow } from '../../domain/runs/grid.ts';
import type { TimelineRow } from '../../domain/runs/timeline.ts';
import type { FoundName, FoundTask } from '../../store/run-search.ts';
import type { AttemptTimes } from '../../store/run-tasks.ts';

export interface RunQuery {
  /** `open`: with open tasks; `failing`: with failed ones, whether it has ended or not. */
  state?: RunState | 'open' | 'failing';
  name?: string;
  /** Part of the name, case-insensitive. */
  q?: string;
  type?: RunType;
  kind?: string;
  /** Id or name. */
  job?: string;
  /** Of a group of failures: with tasks that failed alike, and were not retried. */
  fingerprint?: string;
  /** Contained in the metadata of one of its tasks. */
  metadata?: JsonObject;
  /** Created at or after, and before; milliseconds since the epoch. */
  since?: number;
  until?: number;
}

export interface PageAfter {
  /** Id of a run: the `next` of the page before; null for the first. */
  after: WorkflowId | null;
  limit: number;
}

export interface RunList {
  runs: Run[];
  /** Null if there are no more. A page may have fewer runs than its limit and still have a next one. */
  next: WorkflowId | null;
  /** Runs that were examined. */
  examined: number;
}

/** A name that runs have, with the newest of them. */
export interface RunName {
  name: string;
  last: Run;
  /** Newest first, `last` included; at most RECENT_RUNS. */
  recent: Pick<Run, 'id' | 'state' | 'created_at' | 'ended_at'>[];
}

export interface RunNameList {
  names: RunName[];
  next: WorkflowId | null;
  examined: number;
}

export const RECENT_RUNS = 20;

/** Runs with one name, newest first, and their tasks in rows. */
export interface RunGrid {
  runs: Run[];
  tasks: GridRow[];
  /** By row and run. */
  cells: (GridCell | null)[][];
  /** Rows beyond the bound. */
  tasks_left_out: number;
  /** A run has more tasks than a grid reads of each. */
  partial: boolean;
}

export type TimelineRowWithAttempts = TimelineRow & { attempts: AttemptTimes[] };

export interface RunTimeline {
  run: Run;
  from: number;
  until: number | null;
  rows: TimelineRowWithAttempts[];
  /** Tasks that no row shows. */
  left_out: number;
  /** Time that the tasks which determined the end ran; 0 while the run is open. */
  critical_ms: number;
}

/** What a search found. */
export interface SearchHits {
  runs: Run[];
  tasks: FoundTask[];
  others: FoundName[];
  /** Tasks that were examined for their names. */
  tasks_examined: number;
}

/** Reads of runs for lists. A run is a batch or a workflow. */
export interface Runs {
  /** Newest first. A page ends after some thousand runs, found or not. */
  list(query: RunQuery, page: PageAfter): Promise<RunList>;
  get(id: WorkflowId): Promise<Run | null>;
  /** Names by their newest run; with `q` those that contain it, case-insensitive. */
  names(q: string | undefined, page: PageAfter): Promise<RunNameList>;
  /** The newest runs with this name, at most `limit`. */
  grid(name: string, limit: number): Promise<RunGrid>;
  timeline(id: WorkflowId): Promise<RunTimeline | null>;
  /** Finds what has a text in its name, or is a run or task whose id begins with it; at most `limit` of each type. */
  search(q: string, limit: number): Promise<SearchHits>;
  /** Returns the names of those of the tasks that exist, by id. */
  taskNames(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}
