import { createServer } from 'node:net';
import { parentPort } from 'node:worker_threads';

/** A thread that listens and then never accepts: once its queue is full, the system drops what asks for more. */
const server = createServer();
server.listen({ host: '127.0.0.1', port: 0, backlog: 1 }, () => {
  parentPort!.postMessage((server.address() as { port: number }).port);
  // The message leaves before the thread stands still.
  setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
});
