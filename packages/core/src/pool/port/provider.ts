import type { Requirements } from '@heddle/base/vocabulary/requirements';

/** Runners to be started by one call. Stored before the call, so that a retry repeats the same call. */
export interface LaunchBatch {
  /** The client token: a repeated call with the same token returns the same result and starts nothing. */
  readonly id: string;
  readonly requirements: Requirements;
  /** Minimum of the new runners, from the class rather than the requirements. */
  readonly cpu: number;
  readonly memory_mib: number;
  /** One ID for each runner to be started. */
  readonly runner_ids: readonly string[];
  /** Milliseconds since the epoch. */
  readonly planned_at: number;
  /** Tries before this one. */
  readonly tries: number;
}

export interface LaunchedRunner {
  readonly runner_id: string;
  readonly provider_id: string;
  readonly instance_type: string;
  readonly cpu: number;
  readonly memory_mib: number;
}

export interface LaunchResult {
  /** Fewer than requested if the provider lacked capacity. */
  readonly launched: readonly LaunchedRunner[];
  /** Why some are missing; null if none are. */
  readonly missing: string | null;
}

/**
 * `throttled`: retry later. `capacity`: none available now. `refused`: fails until the operator changes something.
 * `unclear`: the runners may have been started; only repeating the same call shows whether they were.
 */
export type LaunchFault = 'throttled' | 'capacity' | 'refused' | 'unclear';

export class LaunchFailure extends Error {
  readonly fault: LaunchFault;

  constructor(fault: LaunchFault, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'LaunchFailure';
    this.fault = fault;
  }
}

/** An instance that a provider runs for this pool. */
export interface ProviderInstance {
  readonly provider_id: string;
  /** Runner that it was started for; null if its tags do not include it. */
  readonly runner_id: string | null;
  readonly batch_id: string | null;
  readonly state: 'pending' | 'running' | 'stopping' | 'gone';
  /** Milliseconds since the epoch. */
  readonly launched_at: number;
}

/** Starts and terminates instances of runners. Every method is safe to repeat after a crash. */
export interface RunnerProvider {
  readonly name: string;
  /** @throws LaunchFailure */
  launch(batch: LaunchBatch): Promise<LaunchResult>;
  /** Terminates instances; instances that no longer exist are not an error. */
  terminate(providerIds: readonly string[]): Promise<void>;
  /**
   * Lists all instances of this pool, page by page. A failure means that the state is unknown, not that there are none.
   */
  list(): AsyncIterable<readonly ProviderInstance[]>;
  /** Updates the launch configuration; returns one line for each change. */
  refresh(): Promise<string[]>;
  close(): Promise<void>;
}
