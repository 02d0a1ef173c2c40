/** SQS over HTTP in this process, and queues on it. */
import { startFauxqs, type FauxqsServer } from 'fauxqs';

import { openQueue, type OpenedQueue } from '../../../src/queue/open.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import type { Database } from '../../../src/store/database.ts';

// What the SDK finds by itself in production; the server takes any.
process.env['AWS_ACCESS_KEY_ID'] ??= 'test';
process.env['AWS_SECRET_ACCESS_KEY'] ??= 'test';

export function startSqs(): Promise<FauxqsServer> {
  return startFauxqs({ port: 0, logger: false, messageSpies: true });
}

let prefixes = 0;

/** Queues that no one else has, with their services running. */
export async function openSqs(
  server: FauxqsServer,
  database: Database | null,
  options: { fifo?: boolean; maxReceives?: number; create?: boolean } = {},
): Promise<OpenedQueue & { prefix: string }> {
  const { fifo = false, create = true, ...rest } = options;
  prefixes += 1;
  const prefix = `test${prefixes}`;
  const endpoint = encodeURIComponent(server.address);
  const opened = await openQueue({
    url: `sqs://us-east-1/000000000000/${prefix}?endpoint=${endpoint}&fifo=${fifo ? 1 : 0}&create=${create ? 1 : 0}`,
    database,
    clock: systemClock,
    log: silentLogger,
    ...rest,
  });
  for (const service of opened.services) service.start();
  return { ...opened, prefix };
}

export async function closeSqs({ queue, services }: OpenedQueue): Promise<void> {
  await Promise.all(services.map((service) => service.stop()));
  await queue.close();
}
