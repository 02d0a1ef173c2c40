import { createEngine, type EngineOptions, type TransactionalEngine } from '../../../src/engine/engine.ts';
import { createManager, type Manager } from '../../../src/engine/manager/manager.ts';
import type { RunnerBroker } from '../../../src/engine/port.ts';
import type { JobContext } from '../../../src/engine/schedule/context.ts';
import { PostgresQueue } from '../../../src/queue/postgres.ts';
import type { MessageQueue } from '../../../src/queue/port.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { silentLogger } from '../../../src/runtime/log.ts';
import { createMetrics, type Metrics } from '../../../src/runtime/metrics.ts';
import { newId, systemRandom } from '../../../src/runtime/random.ts';
import type { Database } from '../../../src/store/database.ts';

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
