import type { Logger } from '@heddle/base/log';
import type { Metrics } from '../../metrics/metrics.ts';
import type { MessageQueue } from '../../queue/port.ts';
import type { Database } from '../../store/database.ts';
import type { TransactionalEngine } from '../engine.ts';
import type { RunnerBroker } from '../runners/port.ts';
import type { JobContext } from '../schedule/context.ts';

/** Result of a step that is driven by time; `more`: it stopped at its limit, and the rest waits for the next run. */
export interface StepResult {
  count: number;
  more: boolean;
}

/** Context shared by all steps of the manager; it does not change between runs. */
export interface ManagerContext {
  engine: TransactionalEngine;
  database: Database;
  jobs: JobContext;
  /** Queues of workers; polled for messages that the queue service dead-lettered by itself. */
  queue?: Pick<MessageQueue, 'listDeadLettered'>;
  /** Source of runners for tasks; without it such tasks wait for a manager that has one. */
  desk?: RunnerBroker | undefined;
  log: Logger;
  metrics?: Metrics | undefined;
  /** Generates ids for nodes sent without one. */
  newId: () => string;
  /** Claimer name of tasks that are dispatched to queues. */
  holder: string;
}
