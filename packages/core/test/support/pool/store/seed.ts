/** Fills a database with idle runners, and opens stores on it as several processes would. */
import { after } from 'node:test';

import type { NewRequest, PoolTimes } from '../../../../src/pool/port/store.ts';
import { PostgresRunnerStore, type PostgresStoreOptions } from '../../../../src/pool/store/postgres.ts';
import { newId } from '@heddle/base/random';
import type { Database, Statement } from '../../../../src/store/database.ts';
import { FitCache } from '../../../../src/store/runners/fits.ts';
import { createTestDatabase, openTestDatabase } from '@heddle/test-support/postgres';
import { CLASSES, requirementsOf, TIMES, type RequestWords } from './fixture.ts';

const RUNNERS: Statement = {
  name: 'test.seed_runners',
  text: `with made as (
      insert into runner (id, provider, provider_id, type_id, state, threshold, created_at, state_since)
      select u.id, 'yard', u.id::text, u.type_id, 1, now() + interval '1 day', now(),
        now() - (1000 - u.ord) * interval '1 millisecond'
      from unnest($1::uuid[], $2::integer[]) with ordinality u(id, type_id, ord) returning id)
    insert into runner_heartbeat select id, now() + interval '1 hour' from made`,
};

/** One connection pool with a store, as in one process. */
export interface Party {
  readonly database: Database;
  readonly store: PostgresRunnerStore;
}

export interface Field {
  readonly url: string;
  readonly parties: readonly Party[];
  readonly store: PostgresRunnerStore;
  readonly database: Database;
}

/** A new database with several processes. */
export async function openField(parties = 1, times: Partial<PoolTimes> = {}): Promise<Field> {
  const { url, database } = await createTestDatabase({ maxSize: 4 });
  const databases = [database, ...Array.from({ length: parties - 1 }, () => openTestDatabase(url, { maxSize: 4 }))];
  const all = databases.map((each) => ({ database: each, store: storeOn(each, times) }));
  others.push(...databases.slice(1));
  return { url, parties: all, store: all[0]!.store, database };
}

const others: Database[] = [];
after(() => Promise.all(others.map((each) => each.close())));

export function storeOn(
  database: Database,
  times: Partial<PoolTimes> = {},
  extra: Partial<PostgresStoreOptions> = {},
): PostgresRunnerStore {
  return new PostgresRunnerStore({
    database,
    classes: CLASSES,
    times: { ...TIMES, ...times },
    max_uses: null,
    now: () => null,
    ...extra,
  });
}

/** Idle runners, one for each of these types; the last one became idle last. */
export async function seedIdle(database: Database, types: readonly string[]): Promise<string[]> {
  const { resource_class, usage_class } = requirementsOf();
  const { cpu, memory_mib } = CLASSES[0]!;
  const typeIds = await database.transaction((tx) =>
    new FitCache(CLASSES).typeIds(
      tx,
      types.map((instance_type) => ({ resource_class, usage_class, instance_type, cpu, memory_mib })),
    ),
  );
  const ids = types.map(() => newId());
  await database.query(RUNNERS, [ids, typeIds]);
  return ids;
}

export function newRequest({ types, ...overrides }: RequestWords = {}): NewRequest {
  return {
    ...requirementsOf(types === undefined ? {} : { types }),
    id: newId(),
    count: 1,
    tenant: 'acme',
    source: 'holder',
    run: 'a client',
    attempt: null,
    expires_at: null,
    ...overrides,
  };
}

export function many<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}
