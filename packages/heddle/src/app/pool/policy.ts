import type { PoolPolicy } from '@heddle/core/pool/context';
import type { SettingValues } from '../settings.ts';
import { readClasses, readMinIdle } from './policy-values.ts';

const PROCESS_RUNNERS_MAX = 8;
const RUNNERS_MAX = 100;

/** Returns the pool policy of valid settings. */
export function poolPolicyOf(settings: SettingValues): PoolPolicy {
  const { values: classes, times: class_times } = readClasses(settings.runnerClasses);
  return {
    classes,
    class_times,
    times: {
      created_ms: settings.runnerLaunchTimeoutMs,
      register_ms: settings.runnerRegisterTimeoutMs,
      confirm_ms: settings.runnerConfirmTimeoutMs,
      claim_ms: settings.runnerClaimTimeoutMs,
      idle_ms: settings.runnerIdleTimeoutMs,
      heartbeat_max_age_ms: settings.runnerHeartbeatMaxAgeMs,
      heartbeat_timeout_ms: settings.runnerHeartbeatTimeoutMs,
      recheck_ms: settings.runnerRecheckMs,
      reserve_after_ms: settings.runnerReserveAfterMs,
    },
    max_runners: runnersMax(settings),
    batch_max: settings.runnerBatchMax,
    launch_rate: { per_second: settings.runnerLaunchRate, burst: settings.runnerLaunchBurst },
    min_idle: readMinIdle(settings.runnerMinIdle, classes).values,
    max_uses: settings.runnerMaxUses === 0 ? null : settings.runnerMaxUses,
    keep_ms: settings.runnerKeepMs,
  };
}

function runnersMax({ runnersMax: given, runnerProvider }: SettingValues): number {
  if (given > 0) return given;
  return runnerProvider === 'process' ? PROCESS_RUNNERS_MAX : RUNNERS_MAX;
}

/** Returns the faults of the pool settings, each with the name of its variable. */
export function poolFaults(settings: SettingValues): string[] {
  const classes = readClasses(settings.runnerClasses);
  const faults = classes.faults.map((fault) => `HEDDLE_POOL_CLASSES: ${fault}`);
  if (faults.length === 0) faults.push(...minIdleFaults(settings));
  const atLeast = (name: string, value: number, least: number, than: string): void => {
    if (value < least) faults.push(`${name}: must be at least ${than} (${least / 1_000}), not ${value / 1_000}`);
  };
  const { runnerHeartbeatMs: heartbeat, runnerHeartbeatMaxAgeMs: fresh, runnerHeartbeatTimeoutMs: silent } = settings;
  atLeast('HEDDLE_POOL_HEARTBEAT_MAX_AGE_SECS', fresh, heartbeat * 2, 'twice HEDDLE_POOL_HEARTBEAT_SECS');
  atLeast('HEDDLE_POOL_HEARTBEAT_TIMEOUT_SECS', silent, fresh, 'HEDDLE_POOL_HEARTBEAT_MAX_AGE_SECS');
  atLeast('HEDDLE_POOL_CONFIRM_TIMEOUT_SECS', settings.runnerConfirmTimeoutMs, heartbeat, 'HEDDLE_POOL_HEARTBEAT_SECS');
  atLeast(
    'HEDDLE_POOL_CLAIM_TIMEOUT_SECS',
    settings.runnerClaimTimeoutMs,
    settings.runnerConfirmTimeoutMs,
    'HEDDLE_POOL_CONFIRM_TIMEOUT_SECS',
  );
  for (const [name, own] of Object.entries(classes.times)) {
    const confirm = own.confirm_ms ?? settings.runnerConfirmTimeoutMs;
    atLeast(`HEDDLE_POOL_CLASSES: ${name}.confirm_secs`, confirm, heartbeat, 'HEDDLE_POOL_HEARTBEAT_SECS');
    atLeast(
      `HEDDLE_POOL_CLASSES: ${name}.claim_secs`,
      own.claim_ms ?? settings.runnerClaimTimeoutMs,
      confirm,
      'confirm_secs',
    );
  }
  const { runnerLaunchBurst: burst, runnerBatchMax: batch } = settings;
  if (burst < batch) {
    faults.push(
      `HEDDLE_POOL_LAUNCH_BURST: must be at least HEDDLE_POOL_BATCH_MAX (${batch}), not ${burst}: otherwise a full batch could never be launched`,
    );
  }
  return faults;
}

function minIdleFaults(settings: SettingValues): string[] {
  const { values: classes } = readClasses(settings.runnerClasses);
  const { values, faults } = readMinIdle(settings.runnerMinIdle, classes);
  if (faults.length > 0) return faults.map((fault) => `HEDDLE_POOL_MIN_IDLE: ${fault}`);
  const max = runnersMax(settings);
  const wanted = values.filter(({ schedule }) => schedule === null).reduce((sum, { count }) => sum + count, 0);
  if (wanted <= max) return [];
  return [`HEDDLE_POOL_MIN_IDLE: must be at most HEDDLE_POOL_MAX_RUNNERS (${max}) in total, not ${wanted}`];
}
