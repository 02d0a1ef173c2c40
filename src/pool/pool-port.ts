import type { Demand, Requirements } from '../domain/runner/requirements.ts';
import type { ResourceClass, UsageClass } from '../domain/runner/resource-class.ts';
import type { Runner } from '../domain/runner/runner.ts';
import type { PoolPolicy } from './context.ts';
import type { PoolSample } from './port/history.ts';
import type { ClassCensus, RequestWithRunners, RunnerFilter, RunnerRequest } from './port/store.ts';

/** A class, and how many idle runners of it stay now. */
export interface PoolClass extends ResourceClass {
  readonly min_idle: readonly { readonly usage_class: UsageClass; readonly count: number }[];
}

/** What holds back launches, as this process knows it. */
export interface LaunchObstacle {
  /** Null: it concerns all launches. */
  readonly requirements: Requirements | null;
  /** One sentence with its remedy. */
  readonly reason: string;
  /** Milliseconds since the epoch; null: when something changes. */
  readonly retry_at: number | null;
}

/** One of the parts that this process runs. */
export interface PartStatus {
  readonly name: string;
  /** Milliseconds since the epoch of its last pass that did not fail; null before the first. */
  readonly succeeded_at: number | null;
  /** What its last pass failed of; null where it did not. */
  readonly error: string | null;
}

export interface PoolStatus {
  readonly backend: string;
  readonly provider: string;
  readonly max_runners: number;
  /** What this process goes by. */
  readonly policy: PoolPolicy;
  readonly parts: readonly PartStatus[];
  readonly obstacles: readonly LaunchObstacle[];
}

export interface HoldOptions {
  /** A UUID; the same one asks for the same request again. Null: a new one. */
  readonly id: string | null;
  /** What the holder calls itself, 1 to 200 characters. */
  readonly holder: string;
  /** Whom it is fair to; null: the holder. */
  readonly tenant: string | null;
  /** How long it waits, milliseconds; null: as long as it takes. */
  readonly wait_ms: number | null;
}

export interface Provisioned {
  /** They are to be launched, and idle once they have come. */
  readonly runner_ids: readonly string[];
  /** How many of those asked for are left out. */
  readonly left_out: number;
  /** Why; null where none is. */
  readonly reason: string | null;
}

export interface Refreshed {
  /** What the provider changed of what launches need, one line each. */
  readonly changes: readonly string[];
  /** Runners that were ended since their time was over. */
  readonly ended: number;
  /** Runners that the provider was told to end. */
  readonly terminated: number;
  /** Instances without a runner that were ended. */
  readonly orphans: number;
  /** Runners without an instance that were ended. */
  readonly vanished: number;
  /** Idle runners that the backend was told of again. */
  readonly offered: number;
  /** What failed, each with its remedy; the rest was done. */
  readonly failures: readonly string[];
}

/**
 * What people and programs may ask of the pool. Every method throws HeddleError for what its caller can mend
 * (VALIDATION_FAILED, NOT_FOUND, CONFLICT, IDEMPOTENCY_MISMATCH).
 */
export interface PoolOperations {
  classes(): readonly PoolClass[];
  status(): PoolStatus;
  census(): Promise<ClassCensus[]>;
  /** @param page at most 1,000 at once */
  runners(filter: RunnerFilter, page: { offset: number; limit: number }): Promise<Runner[]>;
  /** Requests that wait, in the order of their turn, at most 1,000. */
  waiting(limit: number): Promise<RunnerRequest[]>;
  /** Requests that have their runners, the latest grant first, at most 1,000. */
  granted(limit: number): Promise<RunnerRequest[]>;
  /** @throws HeddleError NOT_FOUND */
  request(id: string): Promise<RequestWithRunners>;
  /** Those of these requests that there are, at most 1,000. */
  requests(ids: readonly string[]): Promise<RequestWithRunners[]>;
  /** Runs `ring` whenever requests of holders may have been settled; returns how to stop that. */
  onSettled(ring: () => void): () => void;
  /** Samples of the last so many milliseconds, oldest first; empty where none are taken. */
  history(sinceMs: number): Promise<PoolSample[]>;

  /** Launches runners that nobody waits for. With an id, asking again launches nothing more. */
  provision(demand: Demand, id?: string): Promise<Provisioned>;
  /** Asks for runners; answers at once, granted or waiting. `request` tells how it goes on. */
  hold(demand: Demand, options: HoldOptions): Promise<RequestWithRunners>;
  /** Ends a holder's request, waiting or granted; its runners are free again. */
  releaseHold(id: string): Promise<RequestWithRunners>;
  /** Ends the holders' requests that these runners were claimed for; returns how many runners were. */
  release(runnerIds: readonly string[]): Promise<number>;
  /** Runners that end as soon as they are free; returns how many. */
  drain(runnerIds: readonly string[]): Promise<number>;
  /** Runners that end now, whatever they do; returns how many. */
  terminate(runnerIds: readonly string[]): Promise<number>;
  /** Brings launches up to date, ends what is over, and tells the backend of every idle runner again. */
  refresh(): Promise<Refreshed>;
}
