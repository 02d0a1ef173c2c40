import type { Logger } from '../../runtime/log.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import type { MessageQueue } from '../../queue/port.ts';
import type { Database } from '../../store/database.ts';
import type { TransactionalEngine } from '../engine.ts';
import type { RunnerDesk } from '../runners/port.ts';
import type { JobContext } from '../schedule/context.ts';

/** What a step did that no message asks for; `more`: it stopped at its bound, and the rest waits for the next run. */
export interface StepResult {
  count: number;
  more: boolean;
}

/** What every step of the manager works with. Nothing in it changes from run to run. */
export interface ManagerContext {
  engine: TransactionalEngine;
  database: Database;
  jobs: JobContext;
  /** Where tasks wait for their workers: asked what its service buried by itself. */
  queue?: Pick<MessageQueue, 'listBuried'>;
  /** Where tasks that need runners get them; without it they wait for a manager that has one. */
  desk?: RunnerDesk | undefined;
  log: Logger;
  metrics?: Metrics | undefined;
  /** Makes the ids of nodes that were sent without one. */
  newId: () => string;
  /** In whose name tasks are claimed for the queues of their workers. */
  holder: string;
}
