import { hostname } from 'node:os';

import { messageOf } from '@heddle/base/thrown';
import type { KindDefinition } from '@heddle/kit';
import { engineResults, type ResultReader } from '../dispatch/kind/result-stream.ts';
import { describeKind } from '../dispatch/kind/describe-kind.ts';
import { QueueWorker } from '../dispatch/worker/queue-worker.ts';
import { engineControl, type TaskControl } from '../dispatch/task-control.ts';
import { createKindDirectory } from '@heddle/core/engine/kinds/directory';
import { openQueue } from '@heddle/core/queue/open';
import { systemClock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import { systemRandom } from '@heddle/base/random';
import type { Tracing } from '@heddle/base/trace';
import type { LogChunk } from '@heddle/base/vocabulary/task-log';
import type { Database } from '@heddle/core/store/database';
import { warnUnknownVariables, type Configuration } from './config.ts';
import { requireReachable } from './database-access.ts';
import { findRunningDatabase } from './embedded.ts';
import { CommandFailure, ConfigurationError, EXIT, type ExitCode } from '@heddle/base/terminal/failure';
import { loadKinds } from './kind-modules.ts';
import { readPolicy } from './pool/shared-policy.ts';
import { processLog, type LogSink } from './process-log.ts';
import { startPresence, type RunsKinds } from './presence.ts';
import { openProcessDatabase, openProcessEngine, openTracing } from './process-parts.ts';
import { requireSchema } from './schema-state.ts';
import { accessServer, type ServerAddress } from './server-access.ts';
import { workerArtifacts } from './artifacts/open.ts';
import { startRemoteWorker, type RunningWorker } from './remote-worker.ts';
import { workerSecrets } from './named-secrets.ts';
import type { SettingValues } from './settings.ts';
import { aborted, untilInterrupted } from '@heddle/base/terminal/signals';
import { StopSequence } from './stop-sequence.ts';
import { workerKinds } from './worker-kinds.ts';
import { surviveStrayRejections } from './stray-rejections.ts';

/** Lifecycle events of a worker process, for the terminal and for scripts. */
export type WorkerEvent =
  | {
      event: 'ready';
      worker: string;
      pid: number;
      kinds: readonly string[];
      concurrency: number;
      queue: string;
      /** Source of cancellations and results; null if there is none. */
      asks: 'database' | 'server' | null;
    }
  | { event: 'stopping'; running: number }
  | { event: 'stopped'; succeeded: number; failed: number }
  | { event: 'forced' };

export interface WorkerOptions {
  configuration: Configuration;
  /** Kinds to run; if empty, all of the modules, and the scanning ones if something may be scanned. */
  kinds: readonly string[];
  /** URL of a server, for a worker without a database. */
  server: ServerAddress | null;
  onEvent: (event: WorkerEvent) => void;
  /** Receives the log; standard error by default. */
  logSink?: LogSink;
}

const HEALTH_INTERVAL_MS = 60_000;

/** What the parts of one start share. */
interface Start {
  settings: SettingValues;
  /** The kinds of the configured modules. */
  modules: readonly KindDefinition[];
  /** Kinds to run; if empty, all of the modules, and the built-in ones that may scan. */
  names: readonly string[];
  server: ServerAddress | null;
  log: Logger;
  stopping: StopSequence;
}

/** `heddle worker`: runs tasks from the queues of its kinds until it is interrupted. */
export async function runWorker(options: WorkerOptions): Promise<ExitCode> {
  const { configuration, server, onEvent, logSink } = options;
  const { values: settings } = configuration;
  const log = processLog(settings, logSink);
  warnUnknownVariables(configuration, log);
  requireKinds(settings, options.kinds);
  const modules = await loadKinds(settings.kindModules, process.cwd());
  return untilInterrupted(
    async (stop) => {
      const stopping = new StopSequence(systemClock, log);
      try {
        const { worker, ready } = await startWorker({ settings, modules, names: options.kinds, server, log, stopping });
        log.info({ kinds: ready.kinds, queue: ready.queue }, `worker ${ready.worker} is receiving tasks`);
        onEvent(ready);
        await aborted(stop);
        onEvent({ event: 'stopping', running: worker.counts().running });
        await worker.stop(settings.workerDrainSecs * 1000);
        const { succeeded, ...others } = worker.counts().ended;
        onEvent({ event: 'stopped', succeeded, failed: Object.values(others).reduce((sum, count) => sum + count, 0) });
      } finally {
        await stopping.stop();
      }
      return EXIT.ok;
    },
    () => onEvent({ event: 'forced' }),
  );
}

async function startWorker(start: Start): Promise<{ worker: RunningWorker; ready: WorkerEvent & { event: 'ready' } }> {
  const { settings, server, log, stopping } = start;
  surviveStrayRejections(log, stopping);
  const common = { clock: systemClock, random: systemRandom, log };
  const tracing = await openTracing(settings, log);
  stopping.add('tracing', () => tracing.shutdown());
  const database = await openWorkerDatabase(start);
  if (database === null && settings.queueUrl === 'postgres') return startByRequests(start, tracing);
  const { control, results, asks, storeLogs, runsKinds } = await accessOf(start, database, tracing);
  const kinds = workerKinds({ ...start, database, control, tracing });
  if (database !== null) await createKindDirectory({ database }).describe(kinds.map(describeKind));
  const { queue } = await openQueue({ url: settings.queueUrl, database, ...common }).catch((error: unknown) => {
    throw new CommandFailure(messageOf(error), { cause: error });
  });
  stopping.add('the queue', () => queue.close());
  const name = `${hostname()}/${process.pid}`;
  const concurrency = settings.workerConcurrency;
  const leaseMs = settings.workerLeaseSecs * 1000;
  const worker = new QueueWorker({
    queue,
    kinds,
    worker: name,
    concurrency,
    leaseMs,
    control,
    results,
    ...(storeLogs === undefined ? {} : { storeLogs }),
    artifacts: workerArtifacts(settings, server, { database, clock: systemClock, log }),
    secrets: workerSecrets(settings, server, { database, clock: systemClock, log }),
    tracing,
    ...common,
  });
  worker.start();
  const health = healthLoop(worker, log);
  health.start();
  stopping.add('the health line', () => health.stop());
  const names = kinds.map((kind) => kind.name);
  runsKinds?.(names, () => worker.counts().running);
  const { pid } = process;
  return { worker, ready: { event: 'ready', worker: name, pid, kinds: names, concurrency, queue: queue.driver, asks } };
}

/** A worker that claims its tasks from a server over HTTP; it needs no database, and a token for work only. */
function startByRequests(
  start: Start,
  tracing: Tracing,
): { worker: RunningWorker; ready: WorkerEvent & { event: 'ready' } } {
  const { settings, server, log } = start;
  const kinds = workerKinds({ ...start, database: null, control: null, tracing });
  const name = `${hostname()}/${process.pid}`;
  const worker = startRemoteWorker({ settings, kinds, server: server!, name, tracing, log });
  const names = kinds.map((kind) => kind.name);
  const { pid } = process;
  const concurrency = settings.workerConcurrency;
  const ready = {
    event: 'ready',
    worker: name,
    pid,
    kinds: names,
    concurrency,
    queue: 'server',
    asks: 'server',
  } as const;
  return { worker, ready };
}

/** @throws ConfigurationError if there is nothing to run */
function requireKinds(settings: SettingValues, names: readonly string[]): void {
  const { kindModules, scanRoots, reconScope, remoteExecutors, commands } = settings;
  const given = [kindModules, scanRoots, reconScope, remoteExecutors, commands, names];
  if (given.some(({ length }) => length > 0)) return;
  throw new ConfigurationError([
    '--module (HEDDLE_MODULES): name at least one module that exports kinds; or set HEDDLE_SCAN_ROOTS (what to scan), HEDDLE_RECON_SCOPE (what may be probed) HEDDLE_EXECUTORS (executors for remote events) or HEDDLE_COMMANDS (how commands are isolated)',
  ]);
}

/** The configured database, or that of a `heddle up` on this machine; null if external queues make it unnecessary. */
async function openWorkerDatabase({ settings, server, log, stopping }: Start): Promise<Database | null> {
  const url = settings.databaseUrl ?? (await findRunningDatabase(settings.dataDir))?.url ?? null;
  if (url === null) {
    if (settings.queueUrl !== 'postgres' || server !== null) return null;
    throw new ConfigurationError([
      `DATABASE_URL: is required where the queues are in PostgreSQL, unless --url (HEDDLE_URL) names a server; no \`heddle up\` runs in ${settings.dataDir}`,
    ]);
  }
  // A database that happens to run here need not belong to the server that was named.
  if (settings.databaseUrl === null && server !== null && settings.queueUrl !== 'postgres') return null;
  const common = { clock: systemClock, random: systemRandom, log };
  const database = openProcessDatabase({ role: 'worker', settings }, { url, ...common });
  stopping.add('the database pool', () => database.close());
  await requireReachable(database, url);
  await requireSchema(database);
  return database;
}

interface Access {
  control: TaskControl | null;
  results: ResultReader | null;
  asks: 'database' | 'server' | null;
  storeLogs?: (chunks: readonly LogChunk[]) => Promise<void>;
  runsKinds?: RunsKinds;
}

async function accessOf(
  { settings, server, log, stopping }: Start,
  database: Database | null,
  tracing: Tracing,
): Promise<Access> {
  if (database !== null) {
    const { classes: resourceClasses } = await readPolicy(database, settings);
    const parts = { database, clock: systemClock, random: systemRandom, log, tracing, resourceClasses };
    const engine = openProcessEngine({ role: 'worker', settings }, parts);
    stopping.add('the engine', () => engine.close());
    const { workerConcurrency: concurrency } = settings;
    const runsKinds = startPresence({ ...parts, engine, type: 'queue_worker', concurrency, stopping });
    const storeLogs = (chunks: readonly LogChunk[]): Promise<void> => engine.appendLogs(chunks);
    return { control: engineControl(engine), results: engineResults(engine), storeLogs, runsKinds, asks: 'database' };
  }
  if (server !== null) return { ...accessServer(server, log), asks: 'server' };
  log.warn(
    {},
    'neither DATABASE_URL nor HEDDLE_URL is set: handlers are not notified of cancellation and cannot read results',
  );
  return { control: null, results: null, asks: null };
}

/** Logs one line a minute about what the worker does; none at the start. */
function healthLoop(worker: RunningWorker, log: Logger): Loop {
  let begun = false;
  const runOnce = (): Promise<'idle'> => {
    if (!begun) {
      begun = true;
      return Promise.resolve('idle');
    }
    const { running, waiting, ended } = worker.counts();
    log.info({ running, waiting, ...ended }, `${running} tasks running, ${ended.succeeded} succeeded since the start`);
    return Promise.resolve('idle');
  };
  return new Loop({ name: 'health', intervalMs: HEALTH_INTERVAL_MS, clock: systemClock, log, runOnce });
}
