import { after } from 'node:test';

import { PostgresQueue } from '../../src/queue/postgres.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { conforms } from '../support/queue/conformance.ts';

const opened: PostgresQueue[] = [];
after(() => Promise.all(opened.map((queue) => queue.close())));

conforms({
  name: 'PostgreSQL',
  grainMs: 100,
  dropsDuplicates: true,
  open: async (options = {}) => {
    const { database } = await createTestDatabase();
    const queue = new PostgresQueue({ database, clock: systemClock, log: silentLogger, ...options });
    opened.push(queue);
    return { queue, database };
  },
});
