import { PostgresRunnerStore } from '../../../../src/pool/store/postgres.ts';
import type { Database } from '../../../../src/store/database.ts';
import { CLASSES, TIMES, Yard, type StoreSettings } from './fixture.ts';

/** Opens a store at the time in the settings. */
function storeOn(database: Database, settings: StoreSettings): PostgresRunnerStore {
  const { times, classes, max_uses } = settings;
  return new PostgresRunnerStore({
    ...{ database, times, classes, max_uses },
    now: () => new Date(settings.now()).toISOString(),
  });
}

export interface PostgresYard {
  readonly yard: Yard;
  readonly store: PostgresRunnerStore;
  /** Opens another store at the same time, as another process would. */
  readonly another: (database: Database) => PostgresRunnerStore;
}

export async function postgresYard(database: Database, given: Partial<StoreSettings> = {}): Promise<PostgresYard> {
  let settings: StoreSettings = { times: TIMES, classes: CLASSES, max_uses: null, now: () => 0 };
  let store = storeOn(database, settings);
  const yard = await Yard.open((opened) => {
    settings = opened;
    store = storeOn(database, opened);
    return Promise.resolve(store);
  }, given);
  return { yard, store, another: (other) => storeOn(other, settings) };
}
