import { systemClock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { retrying } from '@heddle/base/retry';
import { ConfigurationError } from '@heddle/base/terminal/failure';
import type { Tracing } from '@heddle/base/trace';
import { HeddleApiError } from '@heddle/client';
import type { AgentConnection, RunnerAgent } from '@heddle/core/pool/agent/agent';
import type { Registration } from '@heddle/core/pool/port/store';
import type { KindDefinition } from '@heddle/kit';
import { bytesMaxOf } from '../artifacts/open.ts';
import { serverArtifacts } from '../artifacts/server.ts';
import { loadKinds } from '../kind-modules.ts';
import { clientOf, serverResults, type ServerAddress } from '../server-access.ts';
import { RemoteEngine } from '../server-engine.ts';
import { serverSecrets } from '../server-secrets.ts';
import type { SettingValues } from '../settings.ts';
import type { StopSequence } from '../stop-sequence.ts';
import { surviveStrayRejections } from '../stray-rejections.ts';
import { runnerKinds } from '../worker-kinds.ts';
import type { LaunchingServer } from './launching-server.ts';
import type { RunnerDutyOptions } from './runner-duty.ts';
import { ServerConnection, type AgentTimes } from './server-connection.ts';

/** How a runner reaches its pool and its task. */
export interface RunnerAccess {
  times: AgentTimes;
  connection: AgentConnection;
  kinds: readonly KindDefinition[];
  tools: Pick<RunnerDutyOptions, 'engine' | 'results' | 'secrets' | 'artifacts'>;
  /** Wakes the agent when its orders change; returns what ends that. */
  watchOrders(agent: RunnerAgent): () => Promise<void>;
}

interface AccessOptions {
  settings: SettingValues;
  server: ServerAddress;
  /** The same server, if it launched this process; null on another machine. */
  launcher: Pick<LaunchingServer, 'isRunning'> | null;
  /** Name of the runner in the claims of its tasks. */
  holder: string;
  log: Logger;
  tracing: Tracing;
  stopping: StopSequence;
}

const RETRY = { base_ms: 500, factor: 2, max_ms: 10_000, jitter: 0.2 };
/** About five minutes. */
const TRIES_MAX = 34;

export async function openAccess(options: AccessOptions, registration: Registration): Promise<RunnerAccess> {
  const { settings, server, holder, log, tracing, stopping } = options;
  const connection = new ServerConnection(server, systemClock);
  const times = await registered(connection, registration, options);
  const modules = await loadKinds(settings.kindModules, process.cwd());
  if (modules.length > 0) surviveStrayRejections(log, stopping);
  const client = clientOf(connection.server);
  return {
    times,
    connection,
    kinds: runnerKinds({ settings, modules, tracing, log, stopping }),
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
      return async () => {
        stop.abort();
        await loop.stop();
      };
    },
  };
}

/** @throws ConfigurationError if the server refuses the token */
async function registered(
  connection: ServerConnection,
  registration: Registration,
  { launcher, log }: Pick<AccessOptions, 'launcher' | 'log'>,
): Promise<AgentTimes> {
  const { signal } = new AbortController();
  const isRefused = (error: unknown): boolean => error instanceof HeddleApiError && error.status < 500;
  const mayRetry = (error: unknown, retry: number): boolean => {
    if (isRefused(error) || retry >= TRIES_MAX || launcher?.isRunning === false) return false;
    if (retry === 1) log.warn({ err: error }, 'could not reach the server; retrying');
    return true;
  };
  try {
    const clocks = { clock: systemClock, random: systemRandom };
    return await retrying(() => connection.times(registration), { policy: RETRY, ...clocks, signal, mayRetry });
  } catch (error) {
    if (!isRefused(error)) throw error;
    const what = launcher === null ? 'HEDDLE_TOKEN: ' : '';
    throw new ConfigurationError([`${what}the server does not register this runner: ${(error as Error).message}`]);
  }
}
