import type { Demand, Requirements } from '@heddle/base/vocabulary/requirements';
import type { ResourceClass, UsageClass } from '@heddle/base/vocabulary/resource-class';
import type { Runner } from '../domain/runner/runner.ts';
import type { PoolPolicy } from './context.ts';
import type { PoolSample } from './port/history.ts';
import type { ClassCensus, RequestWithRunners, RunnerFilter, RunnerRequest } from './port/store.ts';

/** A class with its current minimum of idle runners. */
export interface PoolClass extends ResourceClass {
  readonly min_idle: readonly { readonly usage_class: UsageClass; readonly count: number }[];
}

/** A reason why launches are held back, as far as this process knows. */
export interface LaunchObstacle {
  /** Null: applies to all launches. */
  readonly requirements: Requirements | null;
  /** One sentence that includes the remedy. */
  readonly reason: string;
  /** Milliseconds since the epoch; null: not before something changes. */
  readonly retry_at: number | null;
}

/** Status of one part of the pool in this process. */
export interface PartStatus {
  readonly name: string;
  /** Milliseconds since the epoch of its last successful pass; null before the first. */
  readonly succeeded_at: number | null;
  /** Error of the last pass; null if it succeeded. */
  readonly error: string | null;
}

export interface PoolStatus {
  readonly backend: string;
  readonly provider: string;
  readonly max_runners: number;
  /** Policy in effect in this process. */
  readonly policy: PoolPolicy;
  readonly parts: readonly PartStatus[];
  readonly obstacles: readonly LaunchObstacle[];
}

export interface HoldOptions {
  /** A UUID that makes the call idempotent; null: a new request. */
  readonly id: string | null;
  /** Name of the holder, 1 to 200 characters. */
  readonly holder: string;
  /** Tenant that fairness applies to; null: the holder. */
  readonly tenant: string | null;
  /** Maximum wait, milliseconds; null: unlimited. */
  readonly wait_ms: number | null;
}

export interface Provisioned {
  /** Runners that will be launched; they become idle when they register. */
  readonly runner_ids: readonly string[];
  /** Number of requested runners that are not launched. */
  readonly not_launched: number;
  /** Why runners were left out; null if none were. */
  readonly reason: string | null;
}

export interface Refreshed {
  /** Changes that the provider made to its launch configuration, one line each. */
  readonly changes: readonly string[];
  /** Overdue runners that were ended. */
  readonly ended: number;
  /** Runners whose instances the provider was asked to terminate. */
  readonly terminated: number;
  /** Instances without a runner that were terminated. */
  readonly orphans: number;
  /** Runners without an instance that were ended. */
  readonly vanished: number;
  /** Idle runners that were offered to the backend again. */
  readonly offered: number;
  /** Steps that failed, each with its remedy; the other steps were completed. */
  readonly failures: readonly string[];
}

/**
 * Operations of the pool for users and API clients. Every method throws HeddleError for errors that the caller can fix
 * (VALIDATION_FAILED, NOT_FOUND, CONFLICT, IDEMPOTENCY_MISMATCH).
 */
export interface PoolOperations {
  classes(): readonly PoolClass[];
  status(): PoolStatus;
  census(): Promise<ClassCensus[]>;
  /** @param page at most 1,000 runners */
  runners(filter: RunnerFilter, page: { offset: number; limit: number }): Promise<Runner[]>;
  /** Returns the waiting requests in queue order, at most 1,000. */
  waiting(limit: number): Promise<RunnerRequest[]>;
  /** Returns the granted requests, the latest grant first, at most 1,000. */
  granted(limit: number): Promise<RunnerRequest[]>;
  /** @throws HeddleError NOT_FOUND */
  request(id: string): Promise<RequestWithRunners>;
  /** Returns those of the given requests that exist, at most 1,000. */
  requests(ids: readonly string[]): Promise<RequestWithRunners[]>;
  /** Calls `ring` whenever holds may have been settled; returns a function that unsubscribes. */
  onSettled(ring: () => void): () => void;
  /** Returns the samples of the last `sinceMs` milliseconds, oldest first; empty if no history is recorded. */
  history(sinceMs: number): Promise<PoolSample[]>;

  /** Launches runners in advance. Repeating a call with the same id launches nothing more. */
  provision(demand: Demand, id?: string): Promise<Provisioned>;
  /** Requests runners and returns at once, granted or waiting; poll `request` for progress. */
  hold(demand: Demand, options: HoldOptions): Promise<RequestWithRunners>;
  /** Ends a hold, waiting or granted, and frees its runners. */
  releaseHold(id: string): Promise<RequestWithRunners>;
  /** Ends the holds that these runners were claimed for; returns how many of the runners were claimed. */
  release(runnerIds: readonly string[]): Promise<number>;
  /** Ends each runner as soon as it is free; returns how many runners were marked. */
  drain(runnerIds: readonly string[]): Promise<number>;
  /** Ends runners now, even if they are working; returns how many. */
  terminate(runnerIds: readonly string[]): Promise<number>;
  /** Updates the launch configuration, ends overdue runners, and offers every idle runner again. */
  refresh(): Promise<Refreshed>;
}
