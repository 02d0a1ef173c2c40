/** Settings of the small pools in these tests: production code with short timeouts. */
import type { PoolPolicy } from '@heddle/core/pool/context';
import type { PoolIntervals } from '@heddle/core/internal/pool/parts';

export const POLICY: PoolPolicy = {
  classes: [{ name: 'large', cpu: 2, memory_mib: 4_096 }],
  times: {
    created_ms: 3_000,
    register_ms: 20_000,
    confirm_ms: 5_000,
    claim_ms: 20_000,
    idle_ms: 120_000,
    heartbeat_max_age_ms: 4_000,
    heartbeat_timeout_ms: 6_000,
    recheck_ms: 500,
    reserve_after_ms: 2_000,
  },
  max_runners: 6,
  batch_max: 4,
  launch_rate: { per_second: 50, burst: 50 },
  min_idle: [],
  max_uses: null,
  keep_ms: 3_600_000,
};

export const INTERVALS: Partial<PoolIntervals> = {
  serve_ms: 100,
  provision_ms: 100,
  launch_ms: 100,
  sweep_ms: 100,
  terminate_ms: 100,
  reap_ms: 200,
  replenish_ms: 1_000,
};

export const HEARTBEAT_MS = 250;
/** How long a runner of these tests works. */
export const WORK_MS = 30;
export const ALONE_MS = 8_000;

/** Arguments of a process. */
export interface YardArguments {
  url: string;
  /** Directory of the runners on this machine. */
  directory: string;
  /** Directory of the journals of runners. */
  journal: string;
  /** Where it dies; null: nowhere. */
  point: YardPoint | null;
  /** Whether the server plays whole lives of runners itself. */
  plays: boolean;
}

/** Right before or after the first call of a method of a port. */
export interface YardPoint {
  process: 'server' | 'runner';
  port: 'store' | 'provider';
  method: string;
  when: 'before' | 'after';
}
