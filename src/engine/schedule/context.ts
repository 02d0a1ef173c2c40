import type { MessageQueue } from '../../queue/port.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Database } from '../../store/database.ts';

/** What jobs work with. */
export interface JobContext {
  database: Database;
  queue: Pick<MessageQueue, 'sendIn'> & Partial<Pick<MessageQueue, 'driver'>>;
  log: Logger;
  newId(): string;
  /** The moment that statements work with: null lets the database say, so that servers need not agree on the time. */
  now(): string | null;
}
