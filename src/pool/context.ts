import type { ResourceClass, UsageClass } from '../domain/runner/resource-class.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import type { Random } from '../runtime/random.ts';
import type { PoolBackend } from './port/backend.ts';
import type { PoolHistory } from './port/history.ts';
import type { RunnerProvider } from './port/provider.ts';
import type { LaunchRate, PoolTimes, RunnerStore } from './port/store.ts';

/** So many idle runners of a class stay there, at the times of a schedule. */
export interface MinIdle {
  readonly resource_class: string;
  readonly usage_class: UsageClass;
  readonly count: number;
  /** Cron expression of the minutes when it holds, with its time zone; null: always. */
  readonly schedule: string | null;
  readonly time_zone: string;
}

/** What a class may have of its own: times in milliseconds, and the claims after which a runner ends. */
export interface ClassTimes extends Pick<PoolTimes, 'register_ms' | 'confirm_ms' | 'claim_ms' | 'idle_ms'> {
  /** Null: any number. */
  readonly max_uses: number | null;
}

export interface PoolPolicy {
  readonly classes: readonly ResourceClass[];
  readonly times: PoolTimes;
  /** By class, what it has of its own; absent: nothing. */
  readonly class_times?: Readonly<Record<string, Partial<ClassTimes>>>;
  /** Most runners that are not terminated, all classes together. */
  readonly max_runners: number;
  /** Most runners of one call to a provider. */
  readonly batch_max: number;
  readonly launch_rate: LaunchRate;
  readonly min_idle: readonly MinIdle[];
  /** Claims after which a runner ends; null: any number. */
  readonly max_uses: number | null;
  /** How long what ended is kept for people to look at. */
  readonly keep_ms: number;
}

export interface PoolMetrics {
  /** Seconds from a request to its grant. */
  pickup(resourceClass: string, source: 'idle' | 'launch', seconds: number): void;
  launches(
    provider: string,
    outcome: 'launched' | 'missing' | 'throttled' | 'capacity' | 'refused' | 'unclear',
    count: number,
  ): void;
  requeued(driver: string, count: number): void;
  discarded(driver: string, count: number): void;
  exhausted(type: 'global' | 'local' | 'uncertain', count: number): void;
  ended(reason: string, count: number): void;
  reaped(what: 'orphan' | 'vanished', count: number): void;
}

/** What every part of the pool works with. */
export interface PoolContext {
  readonly store: RunnerStore;
  readonly backend: PoolBackend;
  /** Launches go to this one. */
  readonly provider: RunnerProvider;
  readonly policy: PoolPolicy;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics?: PoolMetrics;
  /** Where the pool is noted minute by minute. */
  readonly history?: PoolHistory;
}
