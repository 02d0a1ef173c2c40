import { emptyMetrics, mergeMetrics, METRIC_COUNT, packMetrics } from '../graph/metrics.ts';
import type { TaskMetrics } from '../result.ts';
import type { RootObject } from './object-reading.ts';
import type { FromWorker, ResultPart } from './protocol.ts';

/** Objects that are done but not sent, at most. */
const COMPLETED_MAX = 512;

/** Numbers of one row of `completed`: the object's number, then its metrics. */
export const COMPLETED_ROW = 1 + METRIC_COUNT;

/** Gathers what a worker has to say, so that one message speaks of many objects. */
export class ResultOutbox {
  readonly #post: (message: FromWorker) => void;
  /** Of everything this thread did, whether it was sent or not. */
  readonly total: TaskMetrics = emptyMetrics();
  #parts: ResultPart[] = [];
  #completed: number[] = [];

  constructor(post: (message: FromWorker) => void) {
    this.#post = post;
  }

  part(root: RootObject): void {
    root.unacknowledged += root.findings.length;
    this.#take(root);
    this.flush();
  }

  completed(root: RootObject): void {
    mergeMetrics(this.total, root.metrics);
    if (root.findings.length > 0 || root.problems.length > 0) this.#take(root);
    const row = this.#completed.length;
    this.#completed.push(root.index);
    packMetrics(root.metrics, this.#completed, row + 1);
    if (this.#completed.length >= COMPLETED_MAX * COMPLETED_ROW) this.flush();
  }

  /** An object that was dropped by an abort: only what it cost is kept. */
  aborted(root: RootObject): void {
    mergeMetrics(this.total, root.metrics);
  }

  flush(): void {
    if (this.#parts.length === 0 && this.#completed.length === 0) return;
    this.#post({ type: 'results', parts: this.#parts, completed: Float64Array.from(this.#completed) });
    this.#parts = [];
    this.#completed = [];
  }

  #take(root: RootObject): void {
    this.#parts.push({ index: root.index, findings: root.takeFindings(), problems: root.problems });
    root.problems = [];
  }
}
