import type { CompiledRules } from '../detect/packed-rules.ts';
import type { DetectorOptions } from '../detect/detector.ts';
import type { ExplainTarget, LineExplanation } from '../detect/explain/line-explanation.ts';
import type { LiveCounts } from '../graph/live.ts';
import type { ArchiveOptions, SourceSpec } from '../options.ts';
import type { Commit, Finding, Problem, TaskMetrics } from '../result.ts';
import type { DividedObject, SegmentResult } from './division.ts';

/** Startup data of a worker thread. */
export interface WorkerInit {
  sources: readonly SourceSpec[];
  /** Compiled by the coordinator and shared by all threads. */
  rules: CompiledRules;
  detection: DetectorOptions;
  archives: ArchiveOptions;
  /** Path globs, which also apply to archive entries. */
  exclude: readonly string[];
  objectBytesMax: number;
  chunkBytes: number;
  /** Bytes of the segments of large objects, which several threads scan; even, and at least `chunkBytes`. */
  segmentBytes: number;
  /** Depth of the innermost objects. */
  depthMax: number;
  threads: number;
  /** Memory of the permits. */
  budget: SharedArrayBuffer;
  /** Memory of the flags below. */
  control: SharedArrayBuffer;
  /** Set to scan nothing but the object of one line, and to explain that line. */
  explain?: ExplainTarget;
  /** This worker's slot, from 0; its account in the budget is one more. */
  slot: number;
}

/** Words of the shared control memory: two common ones, then three per worker. */
export const CONTROL = {
  /** Not 0: the run was aborted; drop everything. */
  ABORT: 0,
  /** Not 0: too many results wait for an earlier object; begin only objects with lower numbers. */
  BEGIN_BELOW: 1,
  FIRST: 2,
  PER_WORKER: 3,
  /** Incremented by every step. */
  PROGRESS: 0,
  /** Number of the object that a step is working on, plus one; 0 between steps. */
  CURRENT: 1,
  /** KiB scanned of the objects that it has not completed. */
  OPEN_KIB: 2,
} as const;

export function controlWord(slot: number, word: 0 | 1 | 2): number {
  return CONTROL.FIRST + slot * CONTROL.PER_WORKER + word;
}

/** A batch of objects in columns, which costs a third of sending as many small records. */
export interface ObjectBatch {
  type: 'batch';
  /** The objects' numbers in the run. */
  index: readonly number[];
  source: readonly number[];
  path: readonly string[];
  locator: readonly string[];
  size_hint: readonly number[];
  /** Null if none of them has one. */
  commit: readonly (Commit | undefined)[] | null;
}

export type ToWorker =
  | ObjectBatch
  /** The number of delivered findings of an object that is still being read. */
  | { type: 'acknowledged'; index: number; count: number }
  /** Scan segments of an object that another thread has, until other work arrives; reply `helped`. */
  | { type: 'help'; object: DividedObject }
  /** A segment that another thread scanned ahead. */
  | { type: 'segment'; object: DividedObject; result: SegmentResult }
  /** A thread that helped with an object has failed. */
  | { type: 'helper_lost'; index: number }
  /** Reply `handed_back` with the objects that were not begun. */
  | { type: 'hand_back' }
  /** No more batches follow: reply `closed` when all is done, or at once after an abort. */
  | { type: 'close' };

/** Findings and problems of one object, in order; later ones follow in later parts. */
export interface ResultPart {
  index: number;
  findings: readonly Finding[];
  problems: readonly Problem[];
}

export type FromWorker =
  | { type: 'ready' }
  /** The worker cannot start. */
  | { type: 'unable'; code: string | null; message: string; details: readonly string[] }
  | {
      type: 'results';
      parts: readonly ResultPart[];
      /** One row per completed object, after its last part: its number, then its packed metrics. */
      completed: Float64Array;
    }
  /** Other threads may help to scan a large object. */
  | { type: 'divided'; object: DividedObject }
  | { type: 'segment'; object: DividedObject; result: SegmentResult }
  | { type: 'helped' }
  /** Objects that were not begun: the current one takes long, or (null) none may be begun for now. */
  | { type: 'handed_back'; index: readonly number[]; busy_with: number | null }
  /** An archive was not read completely, under the policy `fail-run`. */
  | { type: 'fail_run'; problem: Problem }
  /** The line to explain was scanned. */
  | { type: 'explained'; explanation: LineExplanation }
  | { type: 'defect'; message: string }
  | { type: 'closed'; metrics: TaskMetrics; live: LiveCounts };
