import type { ResourceClass, UsageClass } from '@heddle/base/vocabulary/resource-class';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { Random } from '@heddle/base/random';
import type { PoolBackend } from './port/backend.ts';
import type { PoolHistory } from './port/history.ts';
import type { RunnerProvider } from './port/provider.ts';
import type { Exhaustion, LaunchRate, PoolTimes, RunnerStore } from './port/store.ts';

/** Minimum number of idle runners of a class, at the times of a schedule. */
export interface MinIdle {
  readonly resource_class: string;
  readonly usage_class: UsageClass;
  readonly count: number;
  /** Cron expression of the minutes when the minimum applies, in `time_zone`; null: always. */
  readonly schedule: string | null;
  readonly time_zone: string;
}

/** Settings that a class may override: times in milliseconds, and the number of claims after which a runner ends. */
export interface ClassTimes extends Pick<PoolTimes, 'register_ms' | 'confirm_ms' | 'claim_ms' | 'idle_ms'> {
  /** Null: any number. */
  readonly max_uses: number | null;
}

export interface PoolPolicy {
  readonly classes: readonly ResourceClass[];
  readonly times: PoolTimes;
  /** Overrides by class; absent: none. */
  readonly class_times?: Readonly<Record<string, Partial<ClassTimes>>>;
  /** Maximum number of runners that are not terminated, across all classes. */
  readonly max_runners: number;
  /** Maximum number of runners in one call to a provider. */
  readonly batch_max: number;
  readonly launch_rate: LaunchRate;
  readonly min_idle: readonly MinIdle[];
  /** Number of claims after which a runner ends; null: unlimited. */
  readonly max_uses: number | null;
  /** Retention of ended runners and requests, milliseconds. */
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
  exhausted(type: Exhaustion, count: number): void;
  ended(reason: string, count: number): void;
  reaped(what: 'orphan' | 'vanished', count: number): void;
}

/** Dependencies shared by all parts of the pool. */
export interface PoolContext {
  readonly store: RunnerStore;
  readonly backend: PoolBackend;
  /** Provider that launches runners. */
  readonly provider: RunnerProvider;
  readonly policy: PoolPolicy;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics?: PoolMetrics;
  /** Receives one sample of the pool per minute. */
  readonly history?: PoolHistory;
}
