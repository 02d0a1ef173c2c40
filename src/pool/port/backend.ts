import type { RunnerMessage } from '../../domain/runner/runner.ts';
import type { Exhaustion, Grant, RunnerRequest } from './store.ts';

export interface Served {
  readonly request_id: string;
  /** Null where it got none. */
  readonly grant: Grant | null;
  /** Why it got none. */
  readonly exhaustion: Exhaustion | null;
}

/** What one serving cost, for those who compare backends. */
export interface BackendCounts {
  /** Calls to the queue service or statements. */
  operations: number;
  picked: number;
  requeued: number;
  discarded: number;
}

/** Finds idle runners for requests. The store decides who has a runner; a backend only knows where to look. */
export interface PoolBackend {
  readonly driver: 'postgres' | 'sqs-classic' | 'sqs-sharded';
  readonly counts: Readonly<BackendCounts>;
  /** Tries to serve these waiting requests, in this order; one answer for each. */
  serve(requests: readonly RunnerRequest[]): Promise<Served[]>;
  /** Idle runners that it is to know of; one that it knows already does no harm. */
  offer(runners: readonly RunnerMessage[]): Promise<void>;
}
