import { MessageChannel } from 'node:worker_threads';

import type { FromWorker } from '../worker/protocol.ts';
import { serveWorker } from '../worker/serve.ts';
import { workerParts } from '../worker/worker-parts.ts';
import type { StartWorker } from './worker-thread.ts';

/**
 * Starts a worker in the coordinator's own thread, which takes turns with it: a small scan ends before a thread has
 * loaded its code.
 */
export const startLocalWorker: StartWorker = (init, events) => {
  const { port1, port2 } = new MessageChannel();
  port1.on('message', (message: FromWorker) => events.message(message));
  port1.on('close', () => events.ended(undefined));
  void serveWorker(port2, init, workerParts(init, port2));
  return { post: (message) => port1.postMessage(message), terminate: () => port1.close() };
};
