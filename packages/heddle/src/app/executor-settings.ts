import { parseHostPort } from './host-port.ts';
import * as kind from './setting.ts';

const BIND = 'an address with a port, such as 127.0.0.1:50051, or - for none';
const HOUR_SECS = 3600;

/** Accepts `-` and an address with a port. */
function bind(name: string, aliases: readonly string[], fallback: string, description: string): kind.Setting<string> {
  const check = (given: string): boolean => given === '-' || parseHostPort(given) !== null;
  return kind.checkedText({ name, aliases, fallback, description, allowed: BIND, check });
}

/** A path of a file; empty if none is set. */
function file(name: string, description: string, flag?: string): kind.Setting<string> {
  return kind.text({ name, fallback: '', fallbackText: '-', description, ...(flag === undefined ? {} : { flag }) });
}

/** Settings of `heddle executor`. Its configuration file also accepts the short names without a prefix. */
export const EXECUTOR_SETTING_GROUPS = {
  'Executor: listeners': {
    executorGrpcBind: bind('HEDDLE_EXECUTOR_GRPC_BIND', ['bind_address'], '127.0.0.1:50051', 'gRPC: address and port'),
    executorXmlrpcBind: bind('HEDDLE_EXECUTOR_XMLRPC_BIND', [], '127.0.0.1:50052', 'XML-RPC: address and port'),
    executorTcpBind: bind('HEDDLE_EXECUTOR_TCP_BIND', [], '127.0.0.1:50053', 'TCP: address and port'),
    executorHttpBind: bind(
      'HEDDLE_EXECUTOR_HTTP_BIND',
      [],
      '127.0.0.1:50054',
      'HTTP for `/healthz`, `/metrics` and `/poll/{id}`: address and port',
    ),
    executorTlsCert: file(
      'HEDDLE_EXECUTOR_TLS_CERT',
      'Certificate chain, PEM; without one the executor listens on loopback only',
      '--tls-cert <file>',
    ),
    executorTlsKey: file('HEDDLE_EXECUTOR_TLS_KEY', 'Private key of the certificate, PEM', '--tls-key <file>'),
    executorClientCa: file(
      'HEDDLE_EXECUTOR_CLIENT_CA',
      'Authorities of client certificates, PEM; if set, callers must present a certificate',
      '--client-ca <file>',
    ),
    executorClientCrl: file(
      'HEDDLE_EXECUTOR_CLIENT_CRL',
      'Revocation lists for client certificates, PEM, one for each authority',
      '--client-crl <file>',
    ),
  },
  'Executor: access': {
    executorKeys: file('HEDDLE_EXECUTOR_KEYS', 'Key ring written by `heddle keys generate`', '--keys <file>'),
    executorSecretKey: kind.checkedText({
      name: 'HEDDLE_EXECUTOR_SECRET_KEY',
      aliases: ['secret_key'],
      fallback: '',
      fallbackText: '-',
      description: 'Single key instead of a key ring: base64url of 32 bytes or more; its id is `default`',
      allowed: 'base64url of at least 32 bytes',
      check: (given) => /^[A-Za-z0-9_-]+={0,2}$/.test(given) && Buffer.from(given, 'base64url').length >= 32,
      secret: true,
    }),
    executorAudience: kind.checkedText({
      name: 'HEDDLE_EXECUTOR_AUDIENCE',
      fallback: 'heddle-executor',
      description: 'Audience that requests must be addressed to; executors that share work share it',
      allowed: '1 to 128 of A-Z a-z 0-9 . _ : @ / -',
      check: (given) => /^[A-Za-z0-9._:@/-]{1,128}$/.test(given),
    }),
    executorAllowedEvents: kind.list({
      name: 'HEDDLE_EXECUTOR_ALLOWED_EVENTS',
      flag: '--allow <names>',
      aliases: ['allowed_events'],
      fallback: [],
      fallbackText: 'none',
      description: 'Events that callers may submit, comma-separated; `*` for all that are registered',
    }),
    executorJwtKeys: file(
      'HEDDLE_EXECUTOR_JWT_KEYS',
      'Public keys of tokens, JWKS or PEM; if set, callers must send a token',
    ),
    executorJwtIssuer: kind.text({
      name: 'HEDDLE_EXECUTOR_JWT_ISSUER',
      fallback: '',
      fallbackText: '-',
      description: 'Required issuer of tokens',
    }),
    executorJwtAudience: kind.text({
      name: 'HEDDLE_EXECUTOR_JWT_AUDIENCE',
      fallback: '',
      fallbackText: '`HEDDLE_EXECUTOR_AUDIENCE`',
      description: 'Required audience of tokens',
    }),
    executorJwtAlgorithms: kind.list({
      name: 'HEDDLE_EXECUTOR_JWT_ALGORITHMS',
      fallback: ['EdDSA', 'ES256', 'RS256'],
      allowed: 'a comma-separated list of EdDSA, ES256, ES384, RS256, RS384, PS256',
      item: (given) => (/^(EdDSA|ES256|ES384|RS256|RS384|PS256)$/.test(given) ? given : null),
      description: 'Accepted signature algorithms of tokens',
    }),
    executorRequestsRemembered: kind.integer({
      name: 'HEDDLE_EXECUTOR_REPLAY_REQUESTS_MAX',
      fallback: 2_500_000,
      min: 10_000,
      max: 100_000_000,
      description:
        'Requests of the last minute remembered to detect replays, 54 bytes each; beyond them callers are asked to wait',
    }),
    executorUnprovenMaxMb: kind.integer({
      name: 'HEDDLE_EXECUTOR_UNAUTHENTICATED_MAX_MB',
      aliases: ['unproven_max_mb'],
      fallback: 64,
      min: 16,
      max: 65_536,
      description: 'MiB held by unfinished requests of unauthenticated callers, all listeners together',
    }),
    executorDebug: kind.onOff({
      name: 'HEDDLE_EXECUTOR_DEBUG',
      fallback: false,
      description: 'List the registered events to a caller that names an unknown one',
    }),
  },
  'Executor: events': {
    executorEvents: kind.text({
      name: 'HEDDLE_EXECUTOR_EVENTS',
      flag: '--events-file <file>',
      aliases: ['remote_events_config'],
      fallback: '',
      fallbackText: '-',
      description:
        'Events from directories, npm packages and git repositories: a file that lists them (JSON, YAML or TOML), or the list itself',
    }),
    executorEventsDir: file(
      'HEDDLE_EXECUTOR_EVENTS_DIR',
      'Directory whose modules define events',
      '--events <directory>',
    ),
    executorEphemeralTtlSecs: kind.integer({
      name: 'HEDDLE_EXECUTOR_EPHEMERAL_TTL',
      aliases: ['ephemeral_ttl'],
      fallback: 120,
      min: 1,
      max: 30 * 24 * HOUR_SECS,
      description: 'Seconds after which unused fetched code is deleted',
    }),
    executorCodeScan: kind.choice({
      name: 'HEDDLE_EXECUTOR_CODE_SCAN',
      fallback: 'report',
      words: ['report', 'refuse'],
      description: 'Handling of fetched code that uses `eval`, native addons or listed built-in modules',
    }),
  },
  'Executor: running tasks': {
    executorWorkerCount: kind.integer({
      name: 'HEDDLE_EXECUTOR_WORKER_COUNT',
      aliases: ['worker_count'],
      fallback: 8,
      min: 1,
      max: 1000,
      description: 'Concurrent tasks',
    }),
    executorTaskTimeoutSecs: kind.integer({
      name: 'HEDDLE_EXECUTOR_TASK_TIMEOUT',
      aliases: ['task_timeout'],
      fallback: 300,
      min: 1,
      max: 24 * HOUR_SECS,
      description: 'Timeout of a task, seconds; events and callers can only shorten it',
    }),
    executorMaxPendingTasks: kind.integer({
      name: 'HEDDLE_EXECUTOR_MAX_PENDING_TASKS',
      aliases: ['max_pending_tasks'],
      fallback: 100,
      min: 1,
      max: 100_000,
      description: 'Maximum tasks waiting for a worker',
    }),
    executorSandboxMode: kind.onOff({
      name: 'HEDDLE_EXECUTOR_SANDBOX_MODE',
      aliases: ['sandbox_mode'],
      fallback: true,
      description: 'Run tasks in the jail; 0 runs each in a separate process without one',
    }),
    executorTier: kind.choice({
      name: 'HEDDLE_EXECUTOR_TIER',
      flag: '--tier <tier>',
      fallback: 'auto',
      words: ['auto', 'pooled', 'process', 'jail', 'container'],
      description: 'Isolation of tasks; `auto` follows `HEDDLE_EXECUTOR_SANDBOX_MODE`',
    }),
    executorContainerCommand: kind.text({
      name: 'HEDDLE_EXECUTOR_CONTAINER_COMMAND',
      fallback: 'docker',
      description:
        'Command of the container engine for the tier `container`; `kubectl` runs tasks as jobs of a cluster',
    }),
    executorContainerImage: kind.text({
      name: 'HEDDLE_EXECUTOR_CONTAINER_IMAGE',
      fallback: 'node:24-slim',
      description: 'Container image, which must contain Node.js',
    }),
    executorContainerParameters: kind.list({
      name: 'HEDDLE_EXECUTOR_CONTAINER_PARAMETERS',
      fallback: [],
      fallbackText: '-',
      description:
        'Further parameters of that command, comma-separated: for `docker run`, such as `--runtime=runsc`; for `kubectl`, such as `--namespace=tasks`',
    }),
    executorMemoryMb: kind.integer({
      name: 'HEDDLE_EXECUTOR_MEMORY_MB',
      fallback: 256,
      min: 32,
      max: 1_048_576,
      description: 'Memory limit of a task, MiB; events can only lower it',
    }),
    executorPrivateTmp: kind.onOff({
      name: 'HEDDLE_EXECUTOR_PRIVATE_TMP',
      aliases: ['private_tmp'],
      fallback: true,
      description:
        'Give processes of the tiers `pooled` and `process` a private in-memory `/tmp`, `/var/tmp` and `/dev/shm` if the machine supports it',
    }),
    executorFork: kind.onOff({
      name: 'HEDDLE_EXECUTOR_FORK',
      fallback: true,
      description:
        'Fork the processes of the tier `jail` from one that has started Node, if the machine supports it; off, they can use worker threads',
    }),
    executorTmpMb: kind.integer({
      name: 'HEDDLE_EXECUTOR_TMP_MB',
      aliases: ['tmp_mb'],
      fallback: 16,
      min: 1,
      max: 1_048_576,
      description: 'Size of a task’s temporary directory and of the largest file it can write, MiB',
    }),
    executorFirstUser: kind.integer({
      name: 'HEDDLE_EXECUTOR_FIRST_USER',
      fallback: 700_000,
      min: 1_000,
      max: 2_000_000_000,
      description: 'First numeric user that tasks run as if the executor is root',
    }),
    executorUserCount: kind.integer({
      name: 'HEDDLE_EXECUTOR_USER_COUNT',
      fallback: 536_870_912,
      min: 64,
      max: 2_000_000_000,
      description: 'Number of such users, for all executors of the machine; each takes at most 8,192 of them',
    }),
    executorResultBytesMax: kind.integer({
      name: 'HEDDLE_EXECUTOR_RESULT_BYTES_MAX',
      fallback: 1_048_576,
      min: 1024,
      max: 64 * 1_048_576,
      description: 'Maximum size of a task’s result, bytes of JSON',
    }),
    executorResponseTtlMinutes: kind.integer({
      name: 'HEDDLE_EXECUTOR_RESPONSE_TTL_MINUTES',
      aliases: ['response_ttl_minutes'],
      fallback: 10,
      min: 1,
      max: 7 * 24 * 60,
      description: 'Retention of an unacknowledged result, minutes',
    }),
    executorDataDir: kind.text({
      name: 'HEDDLE_EXECUTOR_DATA',
      flag: '--executor-data <directory>',
      fallback: '.heddle/executor',
      description: 'Directory of the journal, the audit log, the nonces and the code of events',
    }),
    executorJournalSync: kind.onOff({
      name: 'HEDDLE_EXECUTOR_JOURNAL_SYNC',
      fallback: true,
      description: 'Make the journal survive a power failure, not only a crash of the process',
    }),
    executorJournalMaxMb: kind.integer({
      name: 'HEDDLE_EXECUTOR_JOURNAL_MAX_MB',
      fallback: 1024,
      min: 16,
      max: 1_048_576,
      description:
        'Maximum size of the journal, MiB; beyond it no task is accepted until results are acknowledged or expire',
    }),
    executorAuditMaxMb: kind.integer({
      name: 'HEDDLE_EXECUTOR_AUDIT_MAX_MB',
      fallback: 1024,
      min: 0,
      max: 1_048_576,
      description: 'Maximum size of the audit log, MiB; beyond it the oldest files are deleted; 0 keeps them all',
    }),
    executorAuditKeepDays: kind.integer({
      name: 'HEDDLE_EXECUTOR_AUDIT_RETENTION_DAYS',
      fallback: 0,
      min: 0,
      max: 36_500,
      description: 'Retention of audit log files, days; 0 keeps them all',
    }),
    executorDrainSecs: kind.integer({
      name: 'HEDDLE_EXECUTOR_DRAIN_SECS',
      fallback: 30,
      min: 0,
      max: HOUR_SECS,
      description: 'Time that running tasks get to finish when the executor stops',
    }),
  },
} as const;
