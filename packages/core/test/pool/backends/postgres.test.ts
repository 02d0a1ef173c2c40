/** All three backends over the PostgreSQL store. */
import { PostgresBackend } from '../../../src/pool/backends/postgres.ts';
import { SqsClassicBackend } from '../../../src/pool/backends/sqs-classic.ts';
import { SqsShardedBackend } from '../../../src/pool/backends/sqs-sharded.ts';
import type { PickupPolicy } from '../../../src/pool/pickup/policy.ts';
import type { PoolBackend } from '../../../src/pool/port/backend.ts';
import { PostgresTypes } from '../../../src/pool/store/postgres-launches.ts';
import { PostgresRunnerStore } from '../../../src/pool/store/postgres.ts';
import { MemoryQueue } from '@heddle/test-support/queue/memory-queue';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import type { Database } from '../../../src/store/database.ts';
import { createTestDatabase, type TestDatabase } from '@heddle/test-support/postgres';
import { CLASSES, TIMES } from '../../support/pool/store/fixture.ts';
import { backendSuite, type OpenedBackend } from '../../support/pool/backends/suite.ts';
import { ShiftedClock } from '../../support/pool/backends/worlds.ts';

const TABLES = [
  '',
  ...'batch budget fit orphan heartbeat request sample shape tenant type'.split(' ').map((name) => `_${name}`),
];

const EMPTY = `with ${TABLES.map((name) => `runner${name}_rows as (delete from runner${name})`).join(', ')} select 1`;

/** Tests use real time, so delays are shortened. */
const QUICK: Partial<PickupPolicy> = { offer_delay_ms: 0, requeue_delay_ms: 0, confirm_ms: 20 };

type Make = (store: PostgresRunnerStore, database: Database, clock: ShiftedClock, policy: object) => () => PoolBackend;

const DRIVERS: Readonly<Record<PoolBackend['driver'], Make>> = {
  postgres: (store) => () => new PostgresBackend(store),
  'sqs-classic': (store, _, clock, policy) => {
    const queue = new MemoryQueue({ clock: systemClock });
    return () => new SqsClassicBackend({ store, queue, classes: CLASSES, policy, clock, log: silentLogger });
  },
  'sqs-sharded': (store, database, clock, policy) => {
    const options = { store, queue: new MemoryQueue({ clock: systemClock }), classes: CLASSES, policy, clock };
    return () => new SqsShardedBackend({ ...options, log: silentLogger, types: new PostgresTypes(database) });
  },
};

let opened: Promise<TestDatabase> | undefined;

async function open(make: Make, numbers: Partial<PickupPolicy>): Promise<OpenedBackend> {
  opened ??= createTestDatabase({ maxSize: 4 });
  const { database } = await opened;
  await database.query({ name: 'empty', text: EMPTY }, []);
  const clock = new ShiftedClock(systemClock);
  const { moment } = clock;
  const now = (): string => new Date(moment.now).toISOString();
  const store = new PostgresRunnerStore({ database, times: TIMES, classes: CLASSES, max_uses: null, now });
  const newBackend = make(store, database, clock, { ...QUICK, ...numbers });
  return {
    ...{ backend: newBackend(), other: newBackend(), store, moment },
    pass: (ms) => Promise.resolve(void (moment.now += ms)),
    settle: (promise) => promise,
  };
}

// One database for all cases, which run sequentially: emptying it is much faster than creating another.
for (const [driver, make] of Object.entries(DRIVERS)) {
  backendSuite(`${driver} over a store in PostgreSQL`, (numbers) => open(make, numbers), 1);
}
