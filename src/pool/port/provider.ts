import type { Requirements } from '../../domain/runner/requirements.ts';

/** Runners to be started by one call. It is written down before the call, so that a second try is the same call. */
export interface LaunchBatch {
  /** The client token: a provider that has seen it answers as it did, and starts nothing. */
  readonly id: string;
  readonly requirements: Requirements;
  /** Of the class, not of the requirements: what the new runners must have. */
  readonly cpu: number;
  readonly memory_mib: number;
  /** One for each that is to be started. */
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
  /** Fewer than asked for where the provider had no more. */
  readonly launched: readonly LaunchedRunner[];
  /** Why some are missing; null where none is. */
  readonly missing: string | null;
}

/**
 * `throttled`: later. `capacity`: there are none of these now. `refused`: never, until somebody changes something.
 * `unclear`: nobody knows whether they were started; only the same call tells.
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

/** Something that a provider runs for this pool. */
export interface ProviderInstance {
  readonly provider_id: string;
  /** What it was started for; null where its tags do not say. */
  readonly runner_id: string | null;
  readonly batch_id: string | null;
  readonly state: 'pending' | 'running' | 'stopping' | 'gone';
  /** Milliseconds since the epoch. */
  readonly launched_at: number;
}

/** Starts and ends runners. Every method may be called again after a crash. */
export interface RunnerProvider {
  readonly name: string;
  /** @throws LaunchFailure */
  launch(batch: LaunchBatch): Promise<LaunchResult>;
  /** What is not there any more is no error. */
  terminate(providerIds: readonly string[]): Promise<void>;
  /** Everything that it runs for this pool, page by page; a failure means that nothing is known, not that nothing is there. */
  list(): AsyncIterable<readonly ProviderInstance[]>;
  /** Brings what launches need up to date; returns one line for each change that it made. */
  refresh(): Promise<string[]>;
  close(): Promise<void>;
}
