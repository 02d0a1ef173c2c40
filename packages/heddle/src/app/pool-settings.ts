import * as kind from './setting.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A duration: milliseconds in code, seconds in the setting. */
function time(name: string, fallback: number, description: string, min = 50, max = DAY_MS): kind.Setting<number> {
  return kind.seconds({ name, fallback, min, max, description });
}

/** A file name, JSON or a short form; its content is validated after all settings were read. */
function structured(name: string, fallbackText: string, description: string): kind.Setting<string> {
  const check = (given: string): boolean => given !== '@';
  return kind.checkedText({
    name,
    fallback: '',
    fallbackText,
    description,
    allowed: 'a value, or @FILE with the path of a file',
    check,
  });
}

/** Settings of the runner pool. */
export const POOL_SETTING_GROUPS = {
  'Runner pool': {
    runnerProvider: kind.choice({
      name: 'HEDDLE_POOL_PROVIDER',
      fallback: 'process',
      words: ['process', 'ec2', 'none'],
      description:
        'Provider of runners: `process` (on this machine), `ec2`, or `none`, which leaves launching to other servers',
    }),
    runnerBackend: kind.choice({
      name: 'HEDDLE_POOL_BACKEND',
      fallback: 'postgres',
      words: ['postgres', 'sqs-classic', 'sqs-sharded'],
      description:
        'Index of idle runners: `postgres`, or queues of `QUEUE_URL`, one per class (`sqs-classic`) or per class, usage and type (`sqs-sharded`)',
    }),
    runnerClasses: structured(
      'HEDDLE_POOL_CLASSES',
      'large, xlarge, 2xl, 4xl, 8xl, 12xl, 16xl',
      'Resource classes: a JSON array of `{"name", "cpu", "memory_mib"}`, or `@FILE` with one; a class may override `idle_secs`, `register_secs`, `confirm_secs`, `claim_secs` and `max_uses`',
    ),
    runnerMinIdle: structured(
      'HEDDLE_POOL_MIN_IDLE',
      '-',
      'Minimum of idle runners: `large=2,xlarge/spot=1`, or a JSON array of `{"class", "usage", "count", "schedule", "time_zone"}`, or `@FILE` with one; `schedule` is a cron expression of the minutes when it applies',
    ),
    runnersMax: kind.integer({
      name: 'HEDDLE_POOL_MAX_RUNNERS',
      fallback: 0,
      fallbackText: '`8` with `process`, else `100`',
      min: 1,
      max: 100_000,
      description: 'Maximum number of runners, all classes together',
    }),
    runnerBatchMax: kind.integer({
      name: 'HEDDLE_POOL_BATCH_MAX',
      fallback: 20,
      min: 1,
      max: 1_000,
      description: 'Maximum number of runners in one call to a provider',
    }),
    runnerLaunchRate: kind.integer({
      name: 'HEDDLE_POOL_LAUNCH_RATE',
      fallback: 5,
      min: 1,
      max: 10_000,
      description: 'Sustained launch rate of all servers together, runners per second',
    }),
    runnerLaunchBurst: kind.integer({
      name: 'HEDDLE_POOL_LAUNCH_BURST',
      fallback: 20,
      min: 1,
      max: 100_000,
      description: 'Runners that may be launched at once after a pause; at least `HEDDLE_POOL_BATCH_MAX`',
    }),
    runnerMaxUses: kind.integer({
      name: 'HEDDLE_POOL_MAX_USES',
      fallback: 0,
      fallbackText: 'any number',
      min: 1,
      max: 1_000_000_000,
      description: 'Number of tasks after which a runner is replaced',
    }),
    runnerFrequencyTolerance: kind.integer({
      name: 'HEDDLE_POOL_FREQUENCY_TOLERANCE',
      fallback: 5,
      min: 1,
      max: 1_000,
      description: 'How often a pickup may see the same unfitting runner before the queue counts as exhausted',
    }),
  },
  'Runner pool: times': {
    runnerLaunchTimeoutMs: time(
      'HEDDLE_POOL_LAUNCH_TIMEOUT_SECS',
      600_000,
      'Timeout from planning a launch to its success',
    ),
    runnerRegisterTimeoutMs: time(
      'HEDDLE_POOL_REGISTER_TIMEOUT_SECS',
      180_000,
      'Timeout from a launch to the registration of the runner',
    ),
    runnerConfirmTimeoutMs: time(
      'HEDDLE_POOL_CONFIRM_TIMEOUT_SECS',
      10_000,
      'Timeout from a claim to its confirmation by the runner',
    ),
    runnerClaimTimeoutMs: time(
      'HEDDLE_POOL_CLAIM_TIMEOUT_SECS',
      300_000,
      'Maximum time of a claim that has not started',
    ),
    runnerIdleTimeoutMs: time('HEDDLE_POOL_IDLE_TIMEOUT_SECS', 300_000, 'Time after which an unused runner ends'),
    runnerHeartbeatMs: time('HEDDLE_POOL_HEARTBEAT_SECS', 5_000, 'Heartbeat interval of a runner'),
    runnerHeartbeatMaxAgeMs: time(
      'HEDDLE_POOL_HEARTBEAT_MAX_AGE_SECS',
      15_000,
      'Maximum age of the last heartbeat of a runner that is claimed',
    ),
    runnerHeartbeatTimeoutMs: time(
      'HEDDLE_POOL_HEARTBEAT_TIMEOUT_SECS',
      30_000,
      'Time without a heartbeat after which a runner counts as silent; it is marked lost if a second check confirms it',
    ),
    runnerRecheckMs: time(
      'HEDDLE_POOL_RECHECK_SECS',
      60_000,
      'Minimum time between two checks that mark a runner lost whose instance is missing, or terminate an instance without a runner',
    ),
    runnerReserveAfterMs: time(
      'HEDDLE_POOL_RESERVE_AFTER_SECS',
      10_000,
      'Time at the head of the queue after which a request for several runners holds back those behind it',
    ),
    runnerExitGraceMs: time(
      'HEDDLE_POOL_EXIT_GRACE_SECS',
      60_000,
      'Time after its deadline at which a runner that cannot reach a server ends itself',
    ),
    runnerDisconnectTimeoutMs: time(
      'HEDDLE_POOL_DISCONNECT_TIMEOUT_SECS',
      60_000,
      'How long a runner survives without a server that answers; half of it if the server that started it is gone',
    ),
    runnerRequeueDelayMs: time(
      'HEDDLE_POOL_REQUEUE_DELAY_SECS',
      3_000,
      'With queues: how long the message of a runner that did not fit stays hidden',
      0,
      900_000,
    ),
    runnerVisibilityMs: time(
      'HEDDLE_POOL_VISIBILITY_SECS',
      30_000,
      'With queues: how long a message is held while its runner is claimed',
      1_000,
      12 * HOUR_MS,
    ),
    runnerKeepMs: time('HEDDLE_POOL_RETENTION_SECS', DAY_MS, 'Retention of ended runners', 1_000, 365 * DAY_MS),
  },
} as const;
