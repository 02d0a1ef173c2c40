import { hostname } from 'node:os';

import { isLoopbackHost } from '@heddle/base/net/classify';
import { DeliveryLoop } from '../dispatch/delivery-loop.ts';
import { createGuardedAgent } from '@heddle/base/outbound/guarded-agent';
import { retentionLoop } from '../dispatch/retention-loop.ts';
import { DEFAULT_RETRY_SCHEDULES, type RetrySchedules } from '../dispatch/retry-schedule.ts';
import { SsrfGuard, validateWebhookUrl, type SsrfPolicy } from '@heddle/base/outbound/ssrf';
import { StartLoop } from '../dispatch/start-loop.ts';
import type { ResourceClass } from '@heddle/base/vocabulary/resource-class';
import { createSharedData } from '@heddle/core/engine/data/shared-data';
import type { TransactionalEngine } from '@heddle/core/engine/engine';
import { createKindDirectory } from '@heddle/core/engine/kinds/directory';
import { createManager } from '@heddle/core/engine/manager/manager';
import { createOverview } from '@heddle/core/engine/overview/overview';
import { createNotices } from '@heddle/core/engine/notices/notices';
import type { Engine } from '@heddle/core/engine/port';
import type { JobContext } from '@heddle/core/engine/schedule/context';
import { createRuns } from '@heddle/core/engine/runs/runs';
import { createJobs } from '@heddle/core/engine/schedule/jobs';
import type { ServerDependencies } from '../http/ports.ts';
import { RunnerCredentials } from '../http/runner-credentials.ts';
import { buildServer, type App } from '../http/server.ts';
import { openQueue, type OpenedQueue } from '@heddle/core/queue/open';
import type { MessageQueue } from '@heddle/core/queue/port';
import { CircuitBreaker, type BreakerState } from '@heddle/base/breaker';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { createMetrics, type Metrics } from '@heddle/core/metrics/metrics';
import { newId, type Random } from '@heddle/base/random';
import type { Tracing } from '@heddle/base/trace';
import type { Database } from '@heddle/core/store/database';
import { DefinitionStore } from '@heddle/core/store/definitions';
import { SecretStore } from '@heddle/core/store/secrets';
import { TokenStore } from '@heddle/core/store/tokens';
import { artifactsOf } from './artifacts/open.ts';
import { requireTokens, sessionsOf } from './access.ts';
import type { Configuration } from './config.ts';
import { findingsOf } from './findings.ts';
import { gaugeLoop } from './gauges.ts';
import { kindDefaultsOf, runnerVariablesOf } from './kind-defaults.ts';
import { startKinds } from './kinds.ts';
import { indexUpkeepLoop } from './index-upkeep.ts';
import { freePort, listenFailure, localUrl } from './listener.ts';
import { mailServerOf } from './mail.ts';
import { inboxKeepMs, ManagerLoop } from './manager-loop.ts';
import { modelsOf } from './models.ts';
import { openIdentityProvider } from './oidc/open.ts';
import { writeOrReadPolicy } from './pool/shared-policy.ts';
import { startPool, type StartedPool } from './pool/start.ts';
import { announceQueuedKinds } from './queued-kinds.ts';
import { startRecordRetention } from './record-retention.ts';
import { pageDirectory, VERSION } from './package.ts';
import { startPresence } from './presence.ts';
import { openProcessDatabase, openProcessEngine, openTracing } from './process-parts.ts';
import { watchExecutors, type ConfiguredExecutors } from './remote/executors.ts';
import { requireSchema } from './schema-state.ts';
import { auditLogOf, secretsOf } from './named-secrets.ts';
import { ServerKinds } from './server-kinds.ts';
import type { SettingValues } from './settings.ts';
import { SigningIdentity } from './signing-keys.ts';
import { ssrfPolicy } from './ssrf-policy.ts';
import type { StopSequence } from './stop-sequence.ts';

export interface SystemOptions {
  settings: SettingValues;
  /** Values given by flags, by variable; passed on to runners that this process starts. */
  flags: Configuration['flags'];
  databaseUrl: string;
  /** Development lets webhooks call loopback. */
  development: boolean;
  clock: Clock;
  random: Random;
  log: Logger;
  /** Receives what is started, in order. */
  stopping: StopSequence;
}

/** A running Heddle. */
export interface System {
  readonly port: number;
  /** URL for programs of this machine. */
  readonly url: string;
  /** URL for webhook targets. */
  readonly hostUrl: string;
  readonly tokensRequired: boolean;
  readonly engine: Engine;
  readonly tokens: TokenStore;
}

/** Time that running webhooks get to finish when the system stops. */
const DELIVERY_GRACE_MS = 3_000;
const CONNECT_TIMEOUT_MS = 10_000;
const RETENTION_ROWS = 5_000;
const RETENTION_INTERVAL_MS = 60_000;

/** What every part is given. */
interface Base extends SystemOptions {
  metrics: Metrics;
  tracing: Tracing;
  breaker: CircuitBreaker;
  database: Database;
}

/**
 * Starts everything on a database of the right schema, in this order: metrics and traces, the pool behind its breaker,
 * stores and keys, the engine, the HTTP server, the loops. `stopping` ends them in reverse order, so that running
 * webhooks can still respond and accepted work is committed.
 */
export async function startSystem(options: SystemOptions): Promise<System> {
  const base = await startBase(options);
  const { settings, database, clock, random, log, stopping } = base;
  await requireSchema(database);
  const stores = {
    tokens: new TokenStore({ database, clock, random }),
    definitions: new DefinitionStore({ database, clock }),
    secrets: new SecretStore({ database, clock, random }),
  };
  const tokensRequired = await requireTokens(settings, stores.tokens, clock);
  const sessionRepository = sessionsOf(settings, base);
  const { queue } = await startQueue(base);
  const { classes, times } = await writeOrReadPolicy(database, settings, log);
  const engine = startEngine(base, queue, classes);
  const runsKinds = startPresence({ ...base, engine, type: 'server', concurrency: settings.workerConcurrency });
  // Determined before the pool is started and the server is built: runners are given it, and handles contain it.
  const port = await freePort(settings);
  const url = localUrl(settings.host, port);
  const hostUrl = settings.hostUrl ?? url;
  const credentials = new RunnerCredentials(stores.secrets);
  const credentialOf = (runnerId: string): Promise<string> => credentials.make(runnerId);
  const forRunners = { url, credentialOf, runnerVariables: runnerVariablesOf(base) };
  const { pool, desk, agents, stopRunners } = await startPool({ ...base, queue, classes, times, ...forRunners });
  const jobs: JobContext = { database, queue, log, newId, now: () => null };
  const policy = ssrfPolicy(base);
  const { secrets } = stores;
  const { webhookSecrets: webhookKeys } = settings;
  const identity = await SigningIdentity.load({ secrets, webhookKeys, hostUrl, version: VERSION, clock, log });
  identity.start();
  stopping.add('the signing keys', () => identity.stop());
  const findings = findingsOf(base.database, base.settings);
  const models = modelsOf(base.database, base.settings);
  const audit = auditLogOf(settings, base);
  const namedSecrets = secretsOf(settings, base, audit);
  const artifacts = artifactsOf(settings, base);
  startRecordRetention(base, [findings, models, audit, artifacts, namedSecrets, sessionRepository]);
  const executors = watchExecutors(base);
  const kinds = new ServerKinds(createKindDirectory(base));
  const parts = {
    engine,
    runs: createRuns(database),
    kinds,
    jobs: createJobs(jobs),
    findings,
    models,
    executors,
    pool,
    agents,
    audit,
    namedSecrets,
    artifacts,
    sessionRepository,
    identityProvider: await openIdentityProvider(settings, policy, base),
    ...stores,
  };
  await startHttp(base, { ...parts, queue, classes, hostUrl, port, policy, tokensRequired, stopRunners });
  startLoops(base, { engine, queue, namedSecrets }, identity, policy);
  startManager(base, { engine, queue, jobs, desk });
  announceQueuedKinds({ ...base, kinds: settings.queuedKinds, engine });
  const notices = createNotices({ database: base.database, log: base.log });
  const ssrf = (url: string): string | null => validateWebhookUrl(url, policy);
  const shared = createSharedData(base);
  const remote = { executors, tracing: base.tracing };
  const served = await startKinds({
    ...base,
    engine,
    notices,
    shared,
    ssrf,
    findings,
    models,
    secrets: namedSecrets,
    artifacts,
    ...kindDefaultsOf(base),
    remote,
    catalog: kinds,
  });
  runsKinds(served);
  return { port, url, hostUrl, tokensRequired, engine, tokens: stores.tokens };
}

async function startBase(options: SystemOptions): Promise<Base> {
  const { settings, clock, log, stopping } = options;
  const metrics = createMetrics();
  const tracing = await openTracing(settings, log);
  stopping.add('tracing', () => tracing.shutdown());
  let logged: BreakerState = 'closed';
  const breaker = new CircuitBreaker({
    enabled: settings.breakerEnabled,
    failureThreshold: settings.breakerFailureThreshold,
    failureWindowMs: settings.breakerFailureWindowSecs * 1000,
    // The pool tries each second, and one connection shows that the database is available.
    recoveryTimeoutMs: 0,
    successThreshold: 1,
    clock,
    onTransition: (to_state) => {
      metrics.circuitBreakerStateTransitions.inc({ to_state });
      const isProbe = to_state === 'half_open' || (to_state === 'open' && logged === 'open');
      log[isProbe ? 'debug' : 'warn']({ to_state }, `database circuit breaker is ${to_state}`);
      if (!isProbe) logged = to_state;
    },
    onRejection: () => metrics.circuitBreakerRejections.inc(),
  });
  const database = openProcessDatabase(
    { role: 'server', settings },
    {
      url: options.databaseUrl,
      clock,
      log,
      random: options.random,
      breaker,
      metrics: {
        queryDuration: (query, seconds) => metrics.dbQueryDurationSeconds.observe({ query }, seconds),
        slowQuery: (query) => metrics.slowQueries.inc({ query }),
      },
    },
  );
  stopping.add('the database pool', () => database.close());
  return { ...options, metrics, tracing, breaker, database };
}

function startEngine(base: Base, queue: MessageQueue, classes: readonly ResourceClass[]): TransactionalEngine {
  const { database, clock, random, log, metrics, tracing, settings, stopping } = base;
  const engine = openProcessEngine(
    { role: 'server', settings },
    { database, queue, clock, random, log, metrics, tracing, resourceClasses: classes },
  );
  stopping.add('the engine', () => engine.close());
  return engine;
}

/** Stopped after the loops that use it, and its own services before it. */
async function startQueue({ settings, database, clock, random, log, stopping }: Base): Promise<OpenedQueue> {
  const opened = await openQueue({ url: settings.queueUrl, database, clock, random, log });
  stopping.add('the queue', () => opened.queue.close());
  for (const service of opened.services) {
    service.start();
    stopping.add('a service of the queue', () => service.stop());
  }
  return opened;
}

interface ManagerParts {
  engine: TransactionalEngine;
  queue: MessageQueue;
  jobs: JobContext;
  desk: StartedPool['desk'];
}

function startManager(base: Base, { engine, queue, jobs, desk }: ManagerParts): void {
  const { settings, database, clock, random, log, metrics, stopping } = base;
  const holder = `${hostname()}/${process.pid}`;
  const manager = createManager({ engine, database, queue, jobs, desk, clock, log, metrics, newId, holder });
  const loop = new ManagerLoop({
    manager,
    queue,
    engine,
    receivers: Math.min(settings.managerReceivers, settings.poolMaxSize),
    intervalMs: settings.workerLoopIntervalMs,
    inboxKeepMs: inboxKeepMs(settings, queue),
    clock,
    random,
    log,
  });
  loop.start();
  stopping.add('the manager', () => loop.stop());
}

type HttpParts = Omit<ServerDependencies, keyof Base | 'executors' | 'queues' | 'newId' | 'config' | 'overview'> & {
  executors: ConfiguredExecutors | null;
  queue: MessageQueue;
  classes: readonly ResourceClass[];
  hostUrl: string;
  port: number;
  policy: SsrfPolicy;
  tokensRequired: boolean;
  stopRunners: StartedPool['stopRunners'];
};

async function startHttp(base: Base, parts: HttpParts): Promise<void> {
  const { settings, database, breaker, metrics, tracing, log, clock, stopping } = base;
  const { executors, queue, classes, hostUrl, port, policy, tokensRequired, stopRunners, ...handed } = parts;
  const app: App = buildServer({
    ...handed,
    executors: { list: () => executors?.list() ?? [] },
    overview: createOverview({ database, clock, unreachable: () => executors?.unreachable() ?? [] }),
    queues: queue,
    metrics,
    tracing,
    log,
    clock,
    database,
    breaker,
    newId,
    config: {
      hostUrl,
      pagination: { default: settings.paginationDefault, max: settings.paginationMax },
      bodyLimitBytes: settings.bodyLimitBytes,
      authRequired: tokensRequired,
      metricsPublic: settings.metricsPublic,
      trustedProxies: settings.trustedProxies,
      ssrf: (url) => validateWebhookUrl(url, policy),
      resourceClasses: classes,
      pageDirectory: pageDirectory(),
      version: VERSION,
      ...(isLoopbackHost(settings.host) ? { allowedHosts: namesOf(settings, hostUrl) } : {}),
    },
  });
  stopping.add('the HTTP server', () => app.close());
  stopping.add('the runners', stopRunners);
  // Fastify passes on what its types lack.
  const address = { host: settings.host, port, reusePort: settings.sharePort };
  try {
    await app.listen(address);
  } catch (error) {
    throw listenFailure(error, settings.host, port);
  }
}

/** Names that requests may address the server by, beside those of loopback. */
function namesOf({ host, allowedRequestHosts }: SettingValues, hostUrl: string): string[] {
  return [host, new URL(hostUrl).hostname, ...allowedRequestHosts];
}

function startLoops(
  base: Base,
  { engine, queue, namedSecrets }: Pick<HttpParts, 'engine' | 'queue' | 'namedSecrets'>,
  identity: SigningIdentity,
  policy: SsrfPolicy,
): void {
  const { settings, clock, random, log, metrics, tracing, stopping } = base;
  const agent = createGuardedAgent({
    guard: new SsrfGuard(policy),
    connectionsPerOrigin: settings.webhookConcurrencyPerHost,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
  });
  stopping.add('the webhook connections', () => agent.destroy());
  const mail = mailServerOf(settings, clock);
  stopping.add('the mail server', async () => mail?.close());
  const intervalMs = settings.workerLoopIntervalMs;
  const holder = `${hostname()}/${process.pid}`;
  const common = { engine, clock, log, metrics };
  const deliveries = new DeliveryLoop({
    ...common,
    agent,
    policy,
    identity,
    mail,
    secrets: namedSecrets,
    schedules: retrySchedules(settings),
    tryLimitMs: settings.webhookTimeoutSecs * 1000,
    random,
    tracing,
    holder,
    permits: settings.webhookConcurrency,
    permitsPerOrigin: Math.min(settings.webhookConcurrencyPerHost, settings.webhookConcurrency),
    intervalMs,
  });
  const retentionMs = Math.max(1000, Math.min(RETENTION_INTERVAL_MS, (settings.archiveAfterSecs * 1000) / 2));
  const services = {
    gauges: gaugeLoop({ ...common, queue, database: base.database }),
    'index upkeep': indexUpkeepLoop(base),
    retention: retentionLoop({ ...common, intervalMs: retentionMs, limit: RETENTION_ROWS }),
  };
  for (const [name, service] of Object.entries(services)) {
    service.start();
    stopping.add(`the ${name} loop`, () => service.stop());
  }
  deliveries.start();
  stopping.add('webhook delivery', () => deliveries.stop(DELIVERY_GRACE_MS));
  const starts = new StartLoop({ ...common, deliveries, holder, intervalMs });
  starts.start();
  stopping.add('the start loop', () => starts.stop());
}

function retrySchedules(settings: SettingValues): RetrySchedules {
  const { start, end } = DEFAULT_RETRY_SCHEDULES;
  return {
    start: { ...start, abandon_after_secs: settings.webhookStartAbandonAfterSecs },
    end: { ...end, abandon_after_secs: settings.webhookEndAbandonAfterSecs },
  };
}
