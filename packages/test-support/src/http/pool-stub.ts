import { HeddleError } from '@heddle/base/errors';
import { DEFAULT_RESOURCE_CLASSES } from '@heddle/base/vocabulary/resource-class';
import type { PoolPolicy } from '@heddle/core/pool/context';
import type { PoolOperations } from '@heddle/core/pool/pool-port';

export const POLICY: PoolPolicy = {
  classes: DEFAULT_RESOURCE_CLASSES,
  times: {
    created_ms: 600_000,
    register_ms: 180_000,
    confirm_ms: 10_000,
    claim_ms: 300_000,
    idle_ms: 300_000,
    heartbeat_max_age_ms: 15_000,
    heartbeat_timeout_ms: 30_000,
    recheck_ms: 60_000,
    reserve_after_ms: 10_000,
  },
  max_runners: 8,
  batch_max: 20,
  launch_rate: { per_second: 5, burst: 20 },
  min_idle: [],
  max_uses: null,
  keep_ms: 86_400_000,
};

function nothing(what: string): Promise<never> {
  return Promise.reject(new HeddleError('NOT_FOUND', `the stand-in has no ${what}`));
}

/** A pool without runners; tests of the pool bring a real one. */
export const noPool: PoolOperations = {
  classes: () => DEFAULT_RESOURCE_CLASSES.map((each) => ({ ...each, min_idle: [] })),
  status: () => ({ backend: 'postgres', provider: 'none', max_runners: 8, policy: POLICY, parts: [], obstacles: [] }),
  census: () => Promise.resolve([]),
  runners: () => Promise.resolve([]),
  waiting: () => Promise.resolve([]),
  granted: () => Promise.resolve([]),
  request: () => nothing('requests'),
  requests: () => Promise.resolve([]),
  onSettled: () => () => undefined,
  history: () => Promise.resolve([]),
  provision: () => Promise.resolve({ runner_ids: [], not_launched: 0, reason: null }),
  hold: () => nothing('runners'),
  releaseHold: () => nothing('requests'),
  release: () => Promise.resolve(0),
  drain: () => Promise.resolve(0),
  terminate: () => Promise.resolve(0),
  refresh: () =>
    Promise.resolve({ changes: [], ended: 0, terminated: 0, orphans: 0, vanished: 0, offered: 0, failures: [] }),
};
