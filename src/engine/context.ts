import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { Random } from '../runtime/random.ts';
import type { MessageQueue } from '../queue/port.ts';
import type { Database } from '../store/database.ts';
import type { KnownClasses } from '../domain/runner/parse-requirements.ts';
import type { Kinds } from '../store/kinds.ts';
import type { ClaimSizes } from './flow/claim-sizes.ts';
import type { Observer } from './observe.ts';
import type { KnownKinds } from './known-kinds.ts';
import type { Offers } from './offers.ts';
import type { Signals } from './signals.ts';
import type { Traces } from './traces/traces.ts';

export interface EngineSettings {
  /** How long a claimed task may stay so while nobody delivers its start. */
  claimTimeoutMs: number;
  /** How long an attempt that came through a queue is kept without a heartbeat. */
  workerLeaseMs: number;
  /** Age at which ended workflows move to the archive. */
  archiveAfterMs: number;
  /** Age at which archived workflows are deleted. */
  deleteAfterMs: number;
}

/** What every verb of the engine works with. */
export interface EngineContext {
  database: Database;
  clock: Clock;
  random: Random;
  log: Logger;
  metrics: Metrics | undefined;
  kinds: Kinds;
  signals: Pick<Signals, keyof Signals>;
  observer: Pick<Observer, keyof Observer>;
  /** Null while tracing is off. */
  traces: Traces | null;
  offers: Offers;
  claimSizes: ClaimSizes;
  knownKinds: KnownKinds;
  settings: EngineSettings;
  /** Classes of runner that the pool has; null: not known here, and any name is taken. */
  resourceClasses: KnownClasses;
  /** Where tasks of kinds go whose workers read queues; without it nothing is dispatched. */
  queue: Pick<MessageQueue, 'sendIn'> | undefined;
  /** The moment that statements work with: null lets the database say, so that servers need not agree on the time. */
  now(): string | null;
}
