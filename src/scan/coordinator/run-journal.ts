import type { Finding, Problem, TaskMetrics } from '../result.ts';
import type { Boundary } from './discovery.ts';

/** What a run of before knew of one object. */
export interface KnownResult {
  findings: readonly Finding[];
  problems: readonly Problem[];
  metrics: TaskMetrics;
}

/** Where a run writes down what it has done. */
export interface RunJournal {
  part(index: number, findings: readonly Finding[], problems: readonly Problem[]): void;
  /** The object is read again from its beginning: its parts so far do not count. */
  restart(index: number): void;
  /** Null metrics: none were sent. */
  completed(index: number, path: string, metrics: Float64Array | null): void;
  boundary(boundary: Boundary): void;
  /** All objects before `end` are done and delivered. */
  advanced(end: number): void;
  known(index: number, path: string): KnownResult | null;
  flush(): void;
  complete(): void;
}
