import { parentPort, workerData } from 'node:worker_threads';

import { systemClock } from '../../runtime/clock.ts';
import { detectArchive, detectUnsupported, openArchive } from '../archive/open-archive.ts';
import { createDetector } from '../detect/detector.ts';
import { openOpener } from '../source/open-opener.ts';
import type { WorkerInit } from './protocol.ts';
import { serveWorker } from './serve.ts';

if (parentPort === null) throw new Error('scan: this file is the entry of a worker thread');

await serveWorker(parentPort, workerData as WorkerInit, {
  openOpener,
  createDetector,
  formats: { detect: detectArchive, detectUnsupported, open: openArchive },
  clock: systemClock,
});
