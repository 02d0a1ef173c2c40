import { DEFAULT_BLOCKED_HOSTNAMES, DEFAULT_BLOCKED_SUFFIXES } from '@heddle/base/outbound/ssrf';
import { ACCESS_SETTINGS, LOGIN_SETTING_GROUPS } from './access-settings.ts';
import { ARTIFACT_SETTING_GROUPS } from './artifacts/settings.ts';
import { DATABASE_SETTING_GROUPS } from './database-settings.ts';
import { EXECUTOR_SETTING_GROUPS } from './executor-settings.ts';
import { MAIL_SETTING_GROUPS } from './mail-settings.ts';
import { OIDC_SETTING_GROUPS } from './oidc/settings.ts';
import { POOL_EC2_SETTING_GROUPS } from './pool-ec2-settings.ts';
import { POOL_SETTING_GROUPS } from './pool-settings.ts';
import { REMOTE_CLIENT_SETTING_GROUPS } from './remote-client-settings.ts';
import { COMMAND_SETTING_GROUPS } from './command-settings.ts';
import { SECRET_SETTING_GROUPS } from './secret-settings.ts';
import { SCAN_SETTING_GROUPS } from './scan-settings.ts';
import { OTLP_PROTOCOLS } from '@heddle/base/otlp';
import { queuedKind } from './queued-kinds.ts';
import * as kind from './setting.ts';

const DAY_SECS = 86_400;
const YEAR_SECS = 365 * DAY_SECS;
const HOUR_MS = 3_600_000;

/** Every setting of the server, in the groups of the documentation. */
export const SETTING_GROUPS = {
  Server: {
    databaseUrl: kind.address({
      name: 'DATABASE_URL',
      flag: '--database-url <url>',
      fallback: null,
      fallbackText: 'the embedded database',
      schemes: ['postgres', 'postgresql'],
      description: 'PostgreSQL database; `heddle up` uses the embedded one if this is not set',
    }),
    hostUrl: kind.address({
      name: 'HOST_URL',
      flag: '--host-url <url>',
      fallback: null,
      fallbackText: '`http://127.0.0.1:PORT` on loopback',
      schemes: ['http', 'https'],
      description: 'Public URL that webhook targets respond to; required if the server listens beyond loopback',
    }),
    port: kind.integer({
      name: 'PORT',
      flag: '--port <port>',
      fallback: 8085,
      min: 0,
      max: 65_535,
      description: 'Port; 0 for any free one',
    }),
    host: kind.text({
      name: 'HOST',
      flag: '--host <address>',
      fallback: '127.0.0.1',
      description: 'Address to listen on; tokens are required beyond loopback',
    }),
    sharePort: kind.onOff({
      name: 'HEDDLE_SHARE_PORT',
      fallback: false,
      description:
        'Let several servers of one database listen on the port, on Linux; the kernel distributes connections among them',
    }),
    dataDir: kind.text({
      name: 'HEDDLE_DATA_DIR',
      flag: '--data-dir <directory>',
      fallback: '.heddle',
      description: 'Data directory: the embedded database and the configuration file',
    }),
    configFile: kind.text({
      name: 'HEDDLE_CONFIG',
      flag: '--config <file>',
      fallback: '',
      fallbackText: '`heddle.json` or `heddle.yaml` in the data directory, if it exists',
      description: 'Configuration file, YAML by its extension, else JSON; cannot be set in a configuration file',
    }),
    examples: kind.onOff({
      name: 'HEDDLE_EXAMPLES',
      fallback: true,
      description: 'Run the example at the first start of `heddle up`',
    }),
    migrateAtStart: kind.onOff({
      name: 'HEDDLE_MIGRATE',
      flag: '--migrate',
      fallback: false,
      description: 'Migrate the database when `heddle server` starts; `heddle up` always does',
    }),
  },
  ...DATABASE_SETTING_GROUPS,
  Worker: {
    workerLoopIntervalMs: kind.integer({
      name: 'WORKER_LOOP_INTERVAL_MS',
      fallback: 1000,
      min: 10,
      max: HOUR_MS,
      description: 'Poll interval of background loops that have not been notified',
    }),
    workerClaimTimeoutSecs: kind.integer({
      name: 'WORKER_CLAIM_TIMEOUT_SECS',
      fallback: 30,
      min: 1,
      max: DAY_SECS,
      description: 'Longest time that a task stays `Claimed` before its start is delivered; then it is claimed again',
    }),
    kindModules: kind.list({
      name: 'HEDDLE_MODULES',
      flag: '--module <file>',
      fallback: [],
      fallbackText: '-',
      description: 'Modules whose kinds run in this process, comma-separated paths',
    }),
    workerConcurrency: kind.integer({
      name: 'HEDDLE_WORKER_CONCURRENCY',
      flag: '--concurrency <count>',
      fallback: 24,
      min: 1,
      max: 10_000,
      description: 'Concurrent handlers of such kinds',
    }),
    workerDrainSecs: kind.integer({
      name: 'HEDDLE_WORKER_DRAIN_SECS',
      flag: '--drain <secs>',
      fallback: 30,
      min: 0,
      max: DAY_SECS,
      description:
        'Time that handlers of a `heddle worker` get to finish when it stops; then other workers run their tasks',
    }),
    batchChannelCapacity: kind.integer({
      name: 'BATCH_CHANNEL_CAPACITY',
      fallback: 100,
      min: 1,
      max: 1_000_000,
      description: 'Accepted for compatibility; counter updates share commits, so there is no channel to size',
    }),
  },
  'Queues and the manager': {
    queueUrl: kind.queueUrl({
      name: 'QUEUE_URL',
      fallback: 'postgres',
      description: 'Location of the queues: `postgres` (this database), or `sqs://REGION/ACCOUNT/PREFIX`',
    }),
    managerReceivers: kind.integer({
      name: 'HEDDLE_MANAGER_RECEIVERS',
      fallback: 2,
      min: 0,
      max: 100,
      description:
        'Concurrent batches of messages of this server; 0 leaves them to other servers, at most `POOL_MAX_SIZE`',
    }),
    queuedKinds: kind.list({
      name: 'HEDDLE_QUEUED_KINDS',
      fallback: [],
      fallbackText: '-',
      allowed: 'a comma-separated list of kinds, each of at most 100 characters',
      item: queuedKind,
      description:
        'Kinds whose tasks always go through the queues `worker:KIND`, comma-separated: for workers that read these queues and send no `WorkerSeen`',
    }),
    workerLeaseSecs: kind.integer({
      name: 'WORKER_LEASE_SECS',
      fallback: 60,
      min: 5,
      max: DAY_SECS,
      description: 'Lease of a task that a queue worker runs, without a heartbeat; workers send three in this time',
    }),
    inboxKeepSecs: kind.integer({
      name: 'HEDDLE_INBOX_RETENTION_SECS',
      fallback: 0,
      fallbackText: '`259200`; `1209600` with SQS',
      min: 60,
      max: YEAR_SECS,
      description: 'How long a handled message is remembered, so that a redelivery has no second effect',
    }),
  },
  ...POOL_SETTING_GROUPS,
  ...POOL_EC2_SETTING_GROUPS,
  ...SCAN_SETTING_GROUPS,
  ...COMMAND_SETTING_GROUPS,
  ...SECRET_SETTING_GROUPS,
  ...ARTIFACT_SETTING_GROUPS,
  ...REMOTE_CLIENT_SETTING_GROUPS,
  HTTP: {
    paginationDefault: kind.integer({
      name: 'PAGINATION_DEFAULT',
      fallback: 50,
      min: 1,
      max: 10_000,
      description: 'Items per page if a request does not say',
    }),
    paginationMax: kind.integer({
      name: 'PAGINATION_MAX',
      fallback: 100,
      min: 1,
      max: 10_000,
      description: 'Maximum items per page',
    }),
    bodyLimitBytes: kind.integer({
      name: 'HEDDLE_BODY_LIMIT_BYTES',
      fallback: 64 * 1024 * 1024,
      min: 1024,
      max: 1024 * 1024 * 1024,
      description: 'Maximum request body; larger ones are rejected with 413',
    }),
    ...ACCESS_SETTINGS,
  },
  ...LOGIN_SETTING_GROUPS,
  ...OIDC_SETTING_GROUPS,
  Webhooks: {
    webhookSecrets: kind.signingKeys({
      name: 'HEDDLE_WEBHOOK_SECRETS',
      fallback: [],
      fallbackText: 'a key created at the first start',
      description:
        'Keys that sign webhooks (Standard Webhooks), `whsec_…`, comma-separated; each one signs, so that receivers can change keys at their own pace',
    }),
    webhookConcurrency: kind.integer({
      name: 'HEDDLE_WEBHOOK_CONCURRENCY',
      fallback: 64,
      min: 1,
      max: 10_000,
      description: 'Concurrent webhook requests',
    }),
    webhookConcurrencyPerHost: kind.integer({
      name: 'HEDDLE_WEBHOOK_CONCURRENCY_PER_HOST',
      fallback: 16,
      min: 1,
      max: 10_000,
      description: 'Concurrent webhook requests to one scheme, host and port',
    }),
    webhookTimeoutSecs: kind.integer({
      name: 'HEDDLE_WEBHOOK_TIMEOUT_SECS',
      fallback: 30,
      min: 1,
      max: 600,
      description: 'Timeout of one try',
    }),
    webhookStartAbandonAfterSecs: kind.integer({
      name: 'HEDDLE_WEBHOOK_START_RETRY_SECS',
      fallback: 120,
      min: 1,
      max: DAY_SECS,
      description: 'Time after the first try when a start is abandoned and the task fails',
    }),
    webhookEndAbandonAfterSecs: kind.integer({
      name: 'HEDDLE_WEBHOOK_END_RETRY_SECS',
      fallback: DAY_SECS,
      min: 1,
      max: 30 * DAY_SECS,
      description:
        'Time after the first try when an end or cancel webhook or a notification is abandoned and listed as dead',
    }),
  },
  ...MAIL_SETTING_GROUPS,
  Security: {
    skipSsrfValidation: kind.onOff({
      name: 'SKIP_SSRF_VALIDATION',
      fallback: false,
      description: 'Let webhooks call any address; `heddle up` allows loopback without it',
    }),
    blockedHostnames: kind.list({
      name: 'BLOCKED_HOSTNAMES',
      fallback: DEFAULT_BLOCKED_HOSTNAMES,
      description: 'Host names that webhooks may not call, comma-separated',
    }),
    blockedSuffixes: kind.list({
      name: 'BLOCKED_HOSTNAME_SUFFIXES',
      fallback: DEFAULT_BLOCKED_SUFFIXES,
      description: 'Suffixes of host names that webhooks may not call, comma-separated',
    }),
    allowedHosts: kind.list({
      name: 'HEDDLE_ALLOWED_WEBHOOK_HOSTS',
      aliases: ['SSRF_ALLOWED_HOSTS'],
      fallback: [],
      fallbackText: '-',
      description: 'Names (or `.suffix`) that webhooks may call even if they resolve to private addresses',
    }),
    allowedCidrs: kind.cidrList({
      name: 'HEDDLE_ALLOWED_WEBHOOK_CIDRS',
      aliases: ['SSRF_ALLOWED_CIDRS'],
      fallback: [],
      fallbackText: '-',
      description: 'Addresses or ranges that webhooks may call, even private ones',
    }),
  },
  Retention: {
    archiveAfterSecs: kind.integer({
      name: 'HEDDLE_ARCHIVE_AFTER_SECS',
      fallback: 3600,
      min: 1,
      max: 10 * YEAR_SECS,
      description: 'Age at which completed batches move to the archive, where they stay readable',
    }),
    deleteAfterSecs: kind.integer({
      name: 'HEDDLE_DELETE_AFTER_SECS',
      fallback: 30 * DAY_SECS,
      min: 1,
      max: 100 * YEAR_SECS,
      description: 'Age at which archived batches are deleted',
    }),
    findingsKeepSecs: kind.integer({
      name: 'HEDDLE_FINDINGS_RETENTION_SECS',
      fallback: 180 * DAY_SECS,
      min: 60,
      max: 100 * YEAR_SECS,
      description: 'Retention of findings that are gone, and of the counts of old scans',
    }),
    auditKeepSecs: kind.integer({
      name: 'HEDDLE_AUDIT_RETENTION_SECS',
      fallback: YEAR_SECS,
      min: 60,
      max: 100 * YEAR_SECS,
      description: 'Retention of the audit log of calls',
    }),
    modelsKeepSecs: kind.integer({
      name: 'HEDDLE_MODELS_RETENTION_SECS',
      fallback: 180 * DAY_SECS,
      min: 60,
      max: 100 * YEAR_SECS,
      description: 'Retention of models that are gone, and of the counts of old runs',
    }),
  },
  Observability: {
    logLevel: kind.logLevel({
      name: 'RUST_LOG',
      flag: '--log-level <level>',
      fallback: 'info',
      description: 'Log level: error, warn, info, debug or off',
    }),
    logFormat: kind.choice({
      name: 'HEDDLE_LOG_FORMAT',
      fallback: 'auto',
      words: ['auto', 'json', 'pretty'],
      description: 'JSON lines or plain text; `auto` is plain text on a terminal',
    }),
    slowQueryThresholdMs: kind.integer({
      name: 'SLOW_QUERY_THRESHOLD_MS',
      fallback: 100,
      fallbackText: '`100`; `1000` with `heddle up`',
      min: 1,
      max: HOUR_MS,
      description: 'Duration above which queries are logged and counted',
    }),
    lambdaMetrics: kind.onOff({
      name: 'HEDDLE_LAMBDA_METRICS',
      fallback: true,
      description: 'Write the counters of the manager as a Lambda function to its log, as CloudWatch metrics',
    }),
    tracingEnabled: kind.onOff({ name: 'TRACING_ENABLED', fallback: false, description: 'OpenTelemetry traces' }),
    otlpEndpoint: kind.address({
      name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
      fallback: null,
      fallbackText: '`http://localhost:4318`',
      schemes: ['http', 'https'],
      description: 'Endpoint of traces: a collector that accepts OTLP',
    }),
    otlpProtocol: kind.choice({
      name: 'OTEL_EXPORTER_OTLP_PROTOCOL',
      fallback: 'auto',
      words: ['auto', ...OTLP_PROTOCOLS],
      description: 'Protocol of traces; `auto` is `grpc` for port 4317 and `http/json` for any other',
    }),
    otelServiceName: kind.text({
      name: 'OTEL_SERVICE_NAME',
      fallback: 'task-runner',
      description: 'Service name in traces',
    }),
    otelSamplingRatio: kind.ratio({
      name: 'OTEL_SAMPLING_RATIO',
      fallback: 1,
      description: 'Ratio of new traces that are recorded',
    }),
  },
  ...EXECUTOR_SETTING_GROUPS,
} as const;

type Groups = typeof SETTING_GROUPS;
type UnionToIntersection<U> = (U extends unknown ? (value: U) => void : never) extends (value: infer I) => void
  ? I
  : never;
export type Settings = UnionToIntersection<Groups[keyof Groups]>;
export type SettingKey = keyof Settings;

/** The value of every setting. */
export type SettingValues = {
  readonly [Key in SettingKey]: Settings[Key] extends kind.Setting<infer T> ? T : never;
};

/** All settings by key, in the order of the groups. */
export const SETTINGS = Object.assign({}, ...Object.values(SETTING_GROUPS)) as Settings;
