import { END_REASONS } from '@heddle/core/domain/runner/end-reasons';
import type { RunnerBroker } from '@heddle/core/engine/port';
import { PostgresBackend } from '@heddle/core/pool/backends/postgres';
import { SqsClassicBackend } from '@heddle/core/pool/backends/sqs-classic';
import { SqsShardedBackend } from '@heddle/core/pool/backends/sqs-sharded';
import type { PoolContext, PoolPolicy } from '@heddle/core/pool/context';
import { Pool } from '@heddle/core/pool/pool';
import type { PoolBackend } from '@heddle/core/pool/port/backend';
import type { RunnerProvider } from '@heddle/core/pool/port/provider';
import { ProcessProvider } from '@heddle/core/pool/providers/process/provider';
import { PostgresTypes } from '@heddle/core/pool/store/postgres-launches';
import type { MessageQueue } from '@heddle/core/queue/port';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import type { Metrics } from '@heddle/core/metrics/metrics';
import type { Random } from '@heddle/base/random';
import type { Database } from '@heddle/core/store/database';
import { POOL_CHANNEL, SETTLED } from '@heddle/core/store/runners/notice-queue';
import type { SettingValues } from '../settings.ts';
import type { StopSequence } from '../stop-sequence.ts';
import { StoredRunnerAgents } from './runner-agents.ts';
import { runnerBrokerOf } from './runner-broker.ts';
import type { SharedTimes } from './shared-policy.ts';
import { poolPolicyOf } from './policy.ts';
import { openProvider } from './providers.ts';
import { PostgresRunnerStore } from '@heddle/core/pool/store/postgres';

export interface StartPoolOptions {
  settings: SettingValues;
  /** The classes of the policy in the database. */
  classes: PoolPolicy['classes'];
  times: SharedTimes;
  /** URL of this server for programs of this machine. */
  url: string;
  /** Returns the credential of a runner. */
  credentialOf: (runnerId: string) => Promise<string>;
  /** Settings that differ from the environment of this process, by variable: for the runners that it starts. */
  runnerVariables: Readonly<Record<string, string | undefined>>;
  database: Database;
  queue: MessageQueue;
  metrics: Metrics;
  clock: Clock;
  random: Random;
  log: Logger;
  stopping: StopSequence;
}

export interface StartedPool {
  readonly pool: Pool;
  /** Requests runners for tasks. */
  readonly desk: RunnerBroker;
  readonly agents: StoredRunnerAgents;
  /** Ends the runner processes of this server, which hand their tasks back over HTTP. */
  readonly stopRunners: () => Promise<void>;
}

const WATCH_MS = 1_000;
const CENSUS_MS = 15_000;

/** Starts the pool of this process, which `stopping` ends, but not its runners. */
export async function startPool(options: StartPoolOptions): Promise<StartedPool> {
  const { settings, database, metrics, clock, random, log, stopping } = options;
  const policy = { ...poolPolicyOf(settings), classes: options.classes };
  const store = new PostgresRunnerStore({ database });
  const changed = await store.refit();
  if (changed > 0) log.warn({ runners: changed }, 'draining runners that do not match HEDDLE_POOL_CLASSES');
  const onEnded = (id: string, reason: string): void => {
    // If this fails, the next reconciliation finds the runner.
    store
      .terminate([id], reason)
      .catch((error: unknown) => log.warn({ err: error, id }, 'could not mark a runner lost'));
  };
  const provider = await openProvider({ ...options, onEnded });
  const backend = backendOf(options, policy, store);
  const context: PoolContext = { store, backend, provider, policy, clock, random, log, metrics: metrics.pool };
  const pool = new Pool({ ...context, history: store }, { launches: settings.runnerProvider !== 'none' });
  pool.start();
  stopping.add('the runner pool', () => pool.stop());
  const unlisten = await database.listen(POOL_CHANNEL, (payload) => {
    // An empty payload may also mean that notifications were lost.
    if (payload !== SETTLED) pool.wake();
    if (payload === SETTLED || payload === '') pool.ring();
  });
  stopping.add('the wakes of the runner pool', unlisten);
  const agents = new StoredRunnerAgents(store, options.times);
  stopping.add('the wakes of agents', await agents.listen(database));
  startLoops(options, store, provider);
  return { pool, desk: runnerBrokerOf(store), agents, stopRunners: () => stopRunners(provider, store, log) };
}

function startLoops(
  { metrics, clock, log, stopping }: StartPoolOptions,
  store: PostgresRunnerStore,
  provider: RunnerProvider,
): void {
  const loops = [
    new Loop({
      name: 'runner gauges',
      intervalMs: CENSUS_MS,
      clock,
      log,
      runOnce: async () => {
        metrics.setRunners(await store.census());
        return 'idle';
      },
    }),
  ];
  if (provider instanceof ProcessProvider) {
    const runOnce = (): Promise<'idle'> => {
      provider.watch();
      return Promise.resolve('idle');
    };
    loops.push(new Loop({ name: 'runner processes', intervalMs: WATCH_MS, clock, log, runOnce }));
  }
  for (const loop of loops) {
    loop.start();
    stopping.add(`the ${loop.name}`, () => loop.stop());
  }
}

/** Ends the runner processes of this machine with their server; other runners keep serving the remaining servers. */
async function stopRunners(provider: RunnerProvider, store: PostgresRunnerStore, log: Logger): Promise<void> {
  const ids = provider instanceof ProcessProvider ? provider.own() : [];
  await provider.close();
  if (ids.length === 0) return;
  await store.terminate(ids, END_REASONS.server_stopped).catch((error: unknown) => {
    log.warn({ err: error, runners: ids.length }, 'could not mark runners ended; left to the sweep of another server');
  });
}

function backendOf(options: StartPoolOptions, policy: PoolPolicy, store: PostgresRunnerStore): PoolBackend {
  const { settings, database, queue, metrics, clock, log } = options;
  if (settings.runnerBackend === 'postgres') return new PostgresBackend(store);
  const common = {
    store,
    queue,
    classes: policy.classes,
    clock,
    log,
    metrics: metrics.pool,
    policy: {
      tolerance: settings.runnerFrequencyTolerance,
      requeue_delay_ms: settings.runnerRequeueDelayMs,
      visibility_ms: settings.runnerVisibilityMs,
    },
  };
  return settings.runnerBackend === 'sqs-classic'
    ? new SqsClassicBackend(common)
    : new SqsShardedBackend({ ...common, types: new PostgresTypes(database) });
}
