import type { RunnerMessage } from '../../domain/runner/runner.ts';
import type { Exhaustion, Grant, RunnerRequest } from './store.ts';

export interface Served {
  readonly request_id: string;
  /** Null if no runner was granted. */
  readonly grant: Grant | null;
  /** Why no runner was granted. */
  readonly exhaustion: Exhaustion | null;
}

/** Cost counters, used to compare backends. */
export interface BackendCounts {
  /** Calls to the queue service, or SQL statements. */
  operations: number;
  picked: number;
  requeued: number;
  discarded: number;
}

/** Finds idle runners for requests. The store decides which request gets a runner; a backend only finds candidates. */
export interface PoolBackend {
  readonly driver: 'postgres' | 'sqs-classic' | 'sqs-sharded';
  readonly counts: Readonly<BackendCounts>;
  /** Tries to serve these waiting requests in the given order; returns one result for each. */
  serve(requests: readonly RunnerRequest[]): Promise<Served[]>;
  /** Adds idle runners; adding a known one again is harmless. */
  offer(runners: readonly RunnerMessage[]): Promise<void>;
}
