import { after } from 'node:test';

import type { OpenedQueue } from '../../../src/queue/open.ts';
import { closeSqs, openSqs, startSqs } from '../../support/queue/fauxqs.ts';
import { backendSuite } from '../../support/pool/backends/suite.ts';
import { openWorld, QUEUE_DRIVERS } from '../../support/pool/backends/worlds.ts';

const server = await startSqs();
const opened: OpenedQueue[] = [];
after(async () => {
  await Promise.all(opened.map(closeSqs));
  await server.stop();
});

for (const driver of QUEUE_DRIVERS) {
  backendSuite(`${driver} over SQS`, async (policy) => {
    const sqs = await openSqs(server, null);
    opened.push(sqs);
    // This world uses real time, so the requeue delay of three seconds is shortened.
    return openWorld(driver, sqs.queue, { requeue_delay_ms: 0, ...policy }, null);
  });
}
