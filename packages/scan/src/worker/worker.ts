import { parentPort, workerData } from 'node:worker_threads';

import type { WorkerInit } from './protocol.ts';
import { serveWorker } from './serve.ts';
import { workerParts } from './worker-parts.ts';

if (parentPort === null) throw new Error('scan: this file is the entry of a worker thread');

const init = workerData as WorkerInit;
await serveWorker(parentPort, init, workerParts(init, parentPort));
