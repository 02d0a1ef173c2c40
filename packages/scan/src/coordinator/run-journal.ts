import type { Verification } from '@heddle/base/vocabulary/verdict';
import type { Finding, Problem, TaskMetrics } from '../result.ts';
import type { Boundary } from './discovery.ts';

/** What an earlier run recorded about one object. */
export interface KnownResult {
  findings: readonly Finding[];
  problems: readonly Problem[];
  metrics: TaskMetrics;
}

/** Records the progress of a run. */
export interface RunJournal {
  part(index: number, findings: readonly Finding[], problems: readonly Problem[]): void;
  /** The object is read again from its beginning: its parts so far are void. */
  restart(index: number): void;
  /** Null metrics: none were sent. */
  completed(index: number, path: string, metrics: Float64Array | null): void;
  boundary(boundary: Boundary): void;
  /** All objects before `end` are done and delivered. */
  advanced(end: number): void;
  /** Keeps what a provider said, by the key of the request. */
  verified(key: string, verification: Verification): void;
  known(index: number, path: string): KnownResult | null;
  flush(): void;
  complete(): void;
}
