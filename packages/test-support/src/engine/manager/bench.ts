import { createEngine, type EngineOptions, type TransactionalEngine } from '@heddle/core/engine/engine';
import { createManager, type Manager } from '@heddle/core/engine/manager/manager';
import type { RunnerBroker } from '@heddle/core/engine/port';
import type { JobContext } from '@heddle/core/engine/schedule/context';
import { PostgresQueue } from '@heddle/core/internal/queue/postgres';
import type { MessageQueue } from '@heddle/core/queue/port';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { createMetrics, type Metrics } from '@heddle/core/metrics/metrics';
import { newId, systemRandom } from '@heddle/base/random';
import type { Database } from '@heddle/core/store/database';

export interface Bench {
  database: Database;
  url: string;
  queue: MessageQueue;
  engine: TransactionalEngine;
  manager: Manager;
  metrics: Metrics;
  jobs: JobContext;
}

/** A manager on a database that is there. */
export function benchOn(
  database: Database,
  options: Partial<EngineOptions> = {},
  desk?: RunnerBroker,
): Omit<Bench, 'url'> {
  const common = { database, clock: systemClock, log: silentLogger };
  const metrics = createMetrics({ processMetrics: false });
  const queue = new PostgresQueue(common);
  const engine = createEngine({ ...common, random: systemRandom, queue, ...options });
  const jobs: JobContext = { database, queue, log: silentLogger, newId, now: () => null };
  const manager = createManager({ ...common, engine, jobs, metrics, desk, newId, holder: 'test' });
  return { database, queue, engine, manager, metrics, jobs };
}
