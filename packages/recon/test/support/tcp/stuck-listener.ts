import { createServer } from 'node:net';
import { parentPort } from 'node:worker_threads';

/** A thread that listens but never accepts: once its queue is full, the system drops further connections. */
const server = createServer();
server.listen({ host: '127.0.0.1', port: 0, backlog: 1 }, () => {
  parentPort!.postMessage((server.address() as { port: number }).port);
  // The message is sent before the thread blocks.
  setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
});
