import type { MessageQueue } from '../../queue/port.ts';
import type { Logger } from '@heddle/base/log';
import type { Database } from '../../store/database.ts';

/** Context of jobs. */
export interface JobContext {
  database: Database;
  queue: Pick<MessageQueue, 'sendIn'> & Partial<Pick<MessageQueue, 'driver'>>;
  log: Logger;
  newId(): string;
  /** Time that statements use; null: the database's clock, so that servers need not agree on the time. */
  now(): string | null;
}
