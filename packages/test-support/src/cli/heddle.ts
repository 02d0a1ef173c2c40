/** A complete Heddle in the test's process, on a separate database, for HTTP clients. */
import { TokenStore } from '@heddle/core/store/tokens';
import type { TokenScope } from '@heddle/core/domain/token';
import { loadConfiguration } from 'heddle/internal/app/config';
import { StopSequence } from 'heddle/internal/app/stop-sequence';
import { startSystem, type System } from 'heddle/internal/app/wiring';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import type { Database } from '@heddle/core/store/database';
import { createTestDatabase } from '../postgres.ts';

export interface Heddle {
  readonly system: System;
  readonly url: string;
  readonly database: Database;
  /** For further processes on the same database. */
  readonly databaseUrl: string;
  /** The requested token. */
  readonly token: string | null;
  stop(): Promise<void>;
}

export interface HeddleOptions {
  /** Settings by the names of their variables. */
  flags?: Readonly<Record<string, string>>;
  /** Creates a token of these scopes before the start. */
  scopes?: readonly TokenScope[];
  /** Another one, whose database it shares: a second server. */
  beside?: Heddle;
}

export async function startHeddle({ flags = {}, scopes, beside }: HeddleOptions = {}): Promise<Heddle> {
  const shared = beside && { url: beside.databaseUrl, database: beside.database, drop: () => Promise.resolve() };
  const testDatabase = shared ?? (await createTestDatabase());
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
    databaseUrl,
    token,
    stop: async () => {
      await stopping.stop();
      await testDatabase.drop();
    },
  };
}
