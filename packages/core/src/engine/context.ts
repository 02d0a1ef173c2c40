import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { Metrics } from '../metrics/metrics.ts';
import type { Random } from '@heddle/base/random';
import type { MessageQueue } from '../queue/port.ts';
import type { Database } from '../store/database.ts';
import type { KnownClasses } from '../domain/runner/parse-requirements.ts';
import type { Kinds } from '../store/kinds.ts';
import type { Activity } from './activity.ts';
import type { ClaimSizes } from './flow/claim-sizes.ts';
import type { SentSecrets } from './secrets/sent-secrets.ts';
import type { Observer } from './observe.ts';
import type { KnownKinds } from './known-kinds.ts';
import type { Offers } from './offers.ts';
import type { Signals } from './signals.ts';
import type { Traces } from './traces/traces.ts';

export interface EngineSettings {
  /** How long a claimed task may wait for its start to be delivered. */
  claimTimeoutMs: number;
  /** Lease of an attempt that came through a queue. */
  workerLeaseMs: number;
  /** Age at which ended workflows move to the archive. */
  archiveAfterMs: number;
  /** Age at which archived workflows are deleted. */
  deleteAfterMs: number;
}

/** Context shared by all methods of the engine. */
export interface EngineContext {
  database: Database;
  clock: Clock;
  random: Random;
  log: Logger;
  metrics: Metrics | undefined;
  kinds: Kinds;
  signals: Pick<Signals, keyof Signals>;
  observer: Pick<Observer, keyof Observer>;
  activity: Activity;
  /** Null while tracing is off. */
  traces: Traces | null;
  offers: Offers;
  claimSizes: ClaimSizes;
  knownKinds: KnownKinds;
  sentSecrets: SentSecrets;
  settings: EngineSettings;
  /** Runner classes of the pool; null: not known in this process, so any name is accepted. */
  resourceClasses: KnownClasses;
  /** Destination of tasks of kinds whose workers read queues; without it nothing is dispatched. */
  queue: Pick<MessageQueue, 'sendIn'> | undefined;
  /** Time that statements use; null: the database's clock, so that servers need not agree on the time. */
  now(): string | null;
}
