import * as kind from './setting.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A time of the pool, in milliseconds here and in seconds where it is set. */
function time(name: string, fallback: number, description: string, min = 50, max = DAY_MS): kind.Setting<number> {
  return kind.seconds({ name, fallback, min, max, description });
}

/** What names a file or holds JSON, or short forms; what is wrong within is told once everything else has been read. */
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
        'What starts runners: `process` (of this machine), `ec2`, or `none`, which leaves it to other servers',
    }),
    runnerBackend: kind.choice({
      name: 'HEDDLE_POOL_BACKEND',
      fallback: 'postgres',
      words: ['postgres', 'sqs-classic', 'sqs-sharded'],
      description:
        'Where idle runners are looked for: `postgres`, or the queues of `QUEUE_URL`, one for each class, or for each class, usage and type',
    }),
    runnerClasses: structured(
      'HEDDLE_POOL_CLASSES',
      'large, xlarge, 2xl, 4xl, 8xl, 12xl, 16xl',
      'Resource classes: a JSON array of `{"name", "cpu", "memory_mib"}`, or `@FILE` with one; a class may say `idle_secs`, `register_secs`, `confirm_secs`, `claim_secs` and `max_uses` of its own',
    ),
    runnerMinIdle: structured(
      'HEDDLE_POOL_MIN_IDLE',
      '-',
      'Runners that stay idle: `large=2,xlarge/spot=1`, or a JSON array of `{"class", "usage", "count", "schedule", "time_zone"}`, or `@FILE` with one; `schedule` is a cron expression of the minutes when it holds',
    ),
    runnersMax: kind.integer({
      name: 'HEDDLE_POOL_MAX_RUNNERS',
      fallback: 0,
      fallbackText: '`8` with `process`, else `100`',
      min: 1,
      max: 100_000,
      description: 'Most runners at once, all classes together',
    }),
    runnerBatchMax: kind.integer({
      name: 'HEDDLE_POOL_BATCH_MAX',
      fallback: 20,
      min: 1,
      max: 1_000,
      description: 'Most runners of one call to a provider',
    }),
    runnerLaunchRate: kind.integer({
      name: 'HEDDLE_POOL_LAUNCH_RATE',
      fallback: 5,
      min: 1,
      max: 10_000,
      description: 'Runners that all servers together launch in a second, in the long run',
    }),
    runnerLaunchBurst: kind.integer({
      name: 'HEDDLE_POOL_LAUNCH_BURST',
      fallback: 20,
      min: 1,
      max: 100_000,
      description: 'Runners that they may launch at once after a pause; at least `HEDDLE_POOL_BATCH_MAX`',
    }),
    runnerMaxUses: kind.integer({
      name: 'HEDDLE_POOL_MAX_USES',
      fallback: 0,
      fallbackText: 'any number',
      min: 1,
      max: 1_000_000_000,
      description: 'After so many tasks a runner ends and another takes its place',
    }),
    runnerFrequencyTolerance: kind.integer({
      name: 'HEDDLE_POOL_FREQUENCY_TOLERANCE',
      fallback: 5,
      min: 1,
      max: 1_000,
      description: 'How often a pickup meets one runner that does not fit before it holds its queue for exhausted',
    }),
  },
  'Runner pool: times': {
    runnerCreatedMs: time('HEDDLE_POOL_CREATED_SECS', 600_000, 'From the plan of a launch to its success'),
    runnerRegisterMs: time('HEDDLE_POOL_REGISTER_SECS', 180_000, 'From a launch to the runner’s first sign of life'),
    runnerConfirmMs: time('HEDDLE_POOL_CONFIRM_SECS', 10_000, 'From a claim to the runner’s word that it has begun'),
    runnerClaimMs: time('HEDDLE_POOL_CLAIM_SECS', 300_000, 'Longest that a claim stays without having begun'),
    runnerIdleMs: time('HEDDLE_POOL_IDLE_SECS', 300_000, 'How long a runner stays that nobody needs'),
    runnerPulseMs: time('HEDDLE_POOL_PULSE_SECS', 5_000, 'Between two signs of life of a runner'),
    runnerFreshMs: time(
      'HEDDLE_POOL_FRESH_SECS',
      15_000,
      'How old the last sign of life of a runner may be that is claimed',
    ),
    runnerSilentMs: time(
      'HEDDLE_POOL_SILENT_SECS',
      30_000,
      'Without a sign of life for so long a runner counts as silent, and as lost where it still is at a second look',
    ),
    runnerDoubtMs: time(
      'HEDDLE_POOL_DOUBT_SECS',
      60_000,
      'Least time between the two looks after which a runner is given up that its provider does not show, or one ended that nobody knows',
    ),
    runnerPatienceMs: time(
      'HEDDLE_POOL_PATIENCE_SECS',
      10_000,
      'After so long at the head a request for several runners holds back those behind it',
    ),
    runnerFarewellMs: time(
      'HEDDLE_POOL_FAREWELL_SECS',
      60_000,
      'How long after its time a runner that hears of nobody ends itself',
    ),
    runnerAloneMs: time(
      'HEDDLE_POOL_ALONE_SECS',
      60_000,
      'How long a runner of this machine lives on without the database; a sixth of it where the server that started it is gone too',
    ),
    runnerRequeueDelayMs: time(
      'HEDDLE_POOL_REQUEUE_DELAY_SECS',
      3_000,
      'How long the message of a runner that did not fit stays hidden, with queues',
      0,
      900_000,
    ),
    runnerVisibilityMs: time(
      'HEDDLE_POOL_VISIBILITY_SECS',
      30_000,
      'How long a message is held while its runner is claimed, with queues',
      1_000,
      12 * HOUR_MS,
    ),
    runnerKeepMs: time('HEDDLE_POOL_KEEP_SECS', DAY_MS, 'How long runners that ended stay listed', 1_000, 365 * DAY_MS),
  },
} as const;
