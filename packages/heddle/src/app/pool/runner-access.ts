import { systemClock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { retrying } from '@heddle/base/retry';
import { ConfigurationError } from '@heddle/base/terminal/failure';
import type { Tracing } from '@heddle/base/trace';
import { HeddleApiError } from '@heddle/client';
import type { AgentConnection, RunnerAgent } from '@heddle/core/pool/agent/agent';
import type { Registration } from '@heddle/core/pool/port/store';
import { PostgresRunnerStore } from '@heddle/core/pool/store/postgres';
import type { Database } from '@heddle/core/store/database';
import { RUNNER_CHANNEL } from '@heddle/core/store/runners/notice-queue';
import type { KindDefinition } from '@heddle/kit';
import { artifactsOf, bytesMaxOf } from '../artifacts/open.ts';
import { serverArtifacts } from '../artifacts/server.ts';
import { requireReachable } from '../database-access.ts';
import { findRunningDatabase } from '../embedded.ts';
import { loadKinds } from '../kind-modules.ts';
import { secretsOf } from '../named-secrets.ts';
import { startPresence } from '../presence.ts';
import { openProcessDatabase, openProcessEngine } from '../process-parts.ts';
import { requireSchema } from '../schema-state.ts';
import { clientOf, serverResults, type ServerAddress } from '../server-access.ts';
import { RemoteEngine } from '../server-engine.ts';
import { serverSecrets } from '../server-secrets.ts';
import type { SettingValues } from '../settings.ts';
import type { StopSequence } from '../stop-sequence.ts';
import { surviveStrayRejections } from '../stray-rejections.ts';
import { workerKinds } from '../worker-kinds.ts';
import type { RunnerDutyOptions } from './runner-duty.ts';
import { kindsOfRunner } from './runner-kinds.ts';
import { ServerConnection, type AgentTimes } from './server-connection.ts';
import { readPolicy } from './shared-policy.ts';

/** How a runner reaches its pool and its task. */
export interface RunnerAccess {
  times: AgentTimes;
  connection: AgentConnection;
  kinds: readonly KindDefinition[];
  tools: Pick<RunnerDutyOptions, 'engine' | 'results' | 'secrets' | 'artifacts'>;
  /** Wakes the agent when its orders change; returns what ends that. */
  watchOrders(agent: RunnerAgent): Promise<() => Promise<void>>;
}

interface AccessOptions {
  settings: SettingValues;
  log: Logger;
  tracing: Tracing;
  stopping: StopSequence;
}

/** Of a runner on the machine of its server. */
export async function accessByDatabase(options: AccessOptions & { development: boolean }): Promise<RunnerAccess> {
  const { settings, development, log, tracing, stopping } = options;
  const common = { clock: systemClock, random: systemRandom, log };
  const database = await openRunnerDatabase(options);
  const { times, classes: resourceClasses } = await readPolicy(database, settings);
  const engine = openProcessEngine({ role: 'runner', settings }, { database, ...common, tracing, resourceClasses });
  stopping.add('the engine', () => engine.close());
  const runsKinds = startPresence({ engine, type: 'runner', concurrency: 1, clock: systemClock, log, stopping });
  const kinds = await kindsOfRunner({ settings, development, database, engine, log, tracing, stopping });
  runsKinds(kinds.map(({ name }) => name));
  return {
    times,
    connection: new PostgresRunnerStore({ database }),
    kinds,
    tools: {
      engine,
      secrets: secretsOf(settings, { database, clock: systemClock, log }),
      artifacts: artifactsOf(settings, { database, clock: systemClock, log }),
    },
    watchOrders: (agent) =>
      database.listen(RUNNER_CHANNEL, (payload) => {
        if (payload === '' || payload === agent.orders?.runner_id) agent.wake();
      }),
  };
}

async function openRunnerDatabase({ settings, log, stopping }: AccessOptions): Promise<Database> {
  const url = settings.databaseUrl ?? (await findRunningDatabase(settings.dataDir))?.url ?? null;
  if (url === null) {
    throw new ConfigurationError([
      `--url (HEDDLE_URL): a runner needs the URL of a server, with a token of the scope runner, unless \`heddle up\` is running with ${settings.dataDir}`,
    ]);
  }
  const common = { clock: systemClock, random: systemRandom, log };
  const database = openProcessDatabase({ role: 'runner', settings }, { url, ...common });
  stopping.add('the database pool', () => database.close());
  await requireReachable(database, url);
  await requireSchema(database);
  return database;
}

const RETRY = { base_ms: 500, factor: 2, max_ms: 10_000, jitter: 0.2 };
/** About five minutes. */
const TRIES_MAX = 34;

/** Of a runner on another machine, which has a token instead of a database. */
export async function accessByServer(
  options: AccessOptions & { server: ServerAddress; holder: string },
  registration: Registration,
): Promise<RunnerAccess> {
  const { settings, server, holder, log, tracing, stopping } = options;
  const connection = new ServerConnection(server, systemClock);
  const times = await registered(connection, registration, log);
  const modules = await loadKinds(settings.kindModules, process.cwd());
  if (modules.length > 0) surviveStrayRejections(log, stopping);
  const client = clientOf(connection.server);
  return {
    times,
    connection,
    kinds: workerKinds({ settings, modules, names: [], database: null, control: null, tracing, log, stopping }),
    tools: {
      engine: new RemoteEngine(client, holder, log),
      results: serverResults(client, holder),
      secrets: serverSecrets(client, holder),
      artifacts: serverArtifacts({ server: connection.server, bytesMax: bytesMaxOf(settings), holder }),
    },
    watchOrders: (agent) => {
      const stop = new AbortController();
      const loop = connection.ordersLoop(() => agent.wake(), stop.signal, log);
      loop.start();
      return Promise.resolve(async () => {
        stop.abort();
        await loop.stop();
      });
    },
  };
}

/** @throws ConfigurationError if the server refuses the token */
async function registered(connection: ServerConnection, registration: Registration, log: Logger): Promise<AgentTimes> {
  const { signal } = new AbortController();
  const isRefused = (error: unknown): boolean => error instanceof HeddleApiError && error.status < 500;
  const mayRetry = (error: unknown, retry: number): boolean => {
    if (isRefused(error) || retry >= TRIES_MAX) return false;
    if (retry === 1) log.warn({ err: error }, 'could not reach the server; retrying');
    return true;
  };
  try {
    const clocks = { clock: systemClock, random: systemRandom };
    return await retrying(() => connection.times(registration), { policy: RETRY, ...clocks, signal, mayRetry });
  } catch (error) {
    if (!isRefused(error)) throw error;
    throw new ConfigurationError([
      `HEDDLE_TOKEN: the server does not register this runner: ${(error as Error).message}`,
    ]);
  }
}
