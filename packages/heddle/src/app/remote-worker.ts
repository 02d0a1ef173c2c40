import { hostname } from 'node:os';

import type { Logger } from '@heddle/base/log';
import { systemClock } from '@heddle/base/clock';
import { systemRandom } from '@heddle/base/random';
import type { Tracing } from '@heddle/base/trace';
import type { KindDefinition } from '@heddle/kit';
import type { TaskControl } from '../dispatch/task-control.ts';
import { startWorkers } from './kinds.ts';
import { clientOf, serverResults, type ServerAddress } from './server-access.ts';
import { bytesMaxOf } from './artifacts/open.ts';
import { serverArtifacts } from './artifacts/server.ts';
import { serverSecrets } from './server-secrets.ts';
import { RemoteEngine } from './server-engine.ts';
import { VERSION } from './package.ts';
import type { SettingValues } from './settings.ts';

/** What the process of a worker shows and ends. */
export interface RunningWorker {
  counts(): { running: number; waiting: number; ended: { succeeded: number } & Readonly<Record<string, number>> };
  stop(graceMs: number): Promise<void>;
}

export interface RemoteWorkerOptions {
  settings: SettingValues;
  kinds: readonly KindDefinition[];
  server: ServerAddress;
  /** Name of the worker in its claims. */
  name: string;
  tracing: Tracing;
  log: Logger;
}

/** The heartbeats of its leases return which tasks are no longer wanted. */
const BY_HEARTBEATS: TaskControl = { check: (tasks) => Promise.resolve(tasks.map(() => null)) };

/** Starts a worker that claims tasks, reports their ends, and sends logs and files over HTTP. */
export function startRemoteWorker(options: RemoteWorkerOptions): RunningWorker {
  const { settings, kinds, server, name, tracing, log } = options;
  const client = clientOf(server);
  const engine = new RemoteEngine(client, name, log, {
    version: VERSION,
    host: hostname(),
    concurrency: settings.workerConcurrency,
    started_at: new Date(systemClock.now()).toISOString(),
  });
  const tools = {
    tracing,
    results: serverResults(client, name),
    artifacts: serverArtifacts({ server, bytesMax: bytesMaxOf(settings), holder: name }),
    secrets: serverSecrets(client, name),
  };
  const clocks = { clock: systemClock, random: systemRandom, log };
  const workers = startWorkers(kinds, { settings, engine, control: BY_HEARTBEATS, holder: name, ...tools, ...clocks });
  return {
    counts: () => {
      const running = workers.reduce((sum, worker) => sum + worker.running, 0);
      return { running, waiting: 0, ended: engine.ended };
    },
    stop: async (graceMs) => {
      engine.stopClaiming();
      await Promise.all(workers.map((worker) => worker.stop(graceMs)));
      await engine.leave();
    },
  };
}
