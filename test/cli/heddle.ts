/** A complete Heddle in the test's process, on a separate database, for HTTP clients. */
import { TokenStore } from '../../src/store/tokens.ts';
import type { TokenScope } from '../../src/domain/token.ts';
import { loadConfiguration } from '../../src/app/config.ts';
import { StopSequence } from '../../src/app/stop-sequence.ts';
import { startSystem, type System } from '../../src/app/wiring.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/log.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import type { Database } from '../../src/store/database.ts';
import { createTestDatabase } from '../support/postgres.ts';

export interface Heddle {
  readonly system: System;
  readonly url: string;
  readonly database: Database;
  /** The requested token. */
  readonly token: string | null;
  stop(): Promise<void>;
}

export interface HeddleOptions {
  /** Settings by the names of their variables. */
  flags?: Readonly<Record<string, string>>;
  /** Creates a token of these scopes before the start. */
  scopes?: readonly TokenScope[];
}

export async function startHeddle({ flags = {}, scopes }: HeddleOptions = {}): Promise<Heddle> {
  const testDatabase = await createTestDatabase();
  const { url: databaseUrl, database } = testDatabase;
  const tokens = new TokenStore({ database, clock: systemClock, random: systemRandom });
  const token = scopes === undefined ? null : (await tokens.create('test', scopes, null)).text;
  const { values: settings } = loadConfiguration({
    flags: { PORT: '0', WORKER_LOOP_INTERVAL_MS: '200', ...flags },
    environment: {},
    workingDirectory: import.meta.dirname,
  });
  const stopping = new StopSequence(systemClock, silentLogger);
  const base = { clock: systemClock, random: systemRandom, log: silentLogger, stopping };
  const system = await startSystem({ ...base, settings, flags: {}, databaseUrl, development: true });
  return {
    system,
    url: system.url,
    database,
    token,
    stop: async () => {
      await stopping.stop();
      await testDatabase.drop();
    },
  };
}
