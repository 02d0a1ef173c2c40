import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { Random } from '../runtime/random.ts';
import type { Database } from '../store/database.ts';
import type { Kinds } from '../store/kinds.ts';
import type { Observer } from './observe.ts';
import type { Signals } from './signals.ts';

export interface EngineSettings {
  /** How long a claimed task may stay so while nobody delivers its start. */
  claimTimeoutMs: number;
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
  settings: EngineSettings;
  /** The moment that statements work with: null lets the database say, so that servers need not agree on the time. */
  now(): string | null;
}
