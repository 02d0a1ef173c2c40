import { after } from 'node:test';

import type { OpenedQueue } from '../../src/queue/open.ts';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { conforms } from '../support/queue/conformance.ts';
import { closeSqs, openSqs, startSqs } from '../support/queue/fauxqs.ts';

const server = await startSqs();
const opened: OpenedQueue[] = [];
after(async () => {
  await Promise.all(opened.map(closeSqs));
  await server.stop();
});

for (const fifo of [false, true]) {
  conforms({
    name: fifo ? 'SQS (FIFO)' : 'SQS (standard)',
    grainMs: 1_000,
    dropsDuplicates: fifo,
    open: async (options = {}) => {
      const { database } = await createTestDatabase();
      // One relay a test: each has its own outbox.
      await Promise.all(opened.splice(0).map(closeSqs));
      const sqs = await openSqs(server, database, { fifo, ...options });
      opened.push(sqs);
      return { queue: sqs.queue, database };
    },
  });
}
