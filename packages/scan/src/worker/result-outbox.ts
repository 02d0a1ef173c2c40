import { emptyMetrics, mergeMetrics, METRIC_COUNT, packMetrics } from '../graph/metrics.ts';
import type { TaskMetrics } from '../result.ts';
import type { RootObject } from './object-reading.ts';
import type { FromWorker, ResultPart } from './protocol.ts';

/** Maximum completed objects that are not sent yet. */
const COMPLETED_MAX = 512;

/** Values per row of `completed`: the object's number, then its metrics. */
export const COMPLETED_ROW = 1 + METRIC_COUNT;

/** Batches a worker's results, so that one message covers many objects. */
export class ResultOutbox {
  readonly #post: (message: FromWorker) => void;
  /** Totals of this thread, sent or not. */
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

  /** Keeps only the metrics of an object that an abort dropped. */
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
