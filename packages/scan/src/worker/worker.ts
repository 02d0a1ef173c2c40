import { parentPort, workerData } from 'node:worker_threads';

import { systemClock } from '@heddle/base/clock';
import { detectArchive, detectUnsupported } from '../archive/detect.ts';
import { stubSearchOf } from '../archive/embedded.ts';
import { createDetector } from '../detect/detector.ts';
import { openOpener } from '../source/open-opener.ts';
import type { WorkerInit } from './protocol.ts';
import { serveWorker } from './serve.ts';

if (parentPort === null) throw new Error('scan: this file is the entry of a worker thread');

await serveWorker(parentPort, workerData as WorkerInit, {
  openOpener,
  createDetector,
  formats: {
    detect: detectArchive,
    detectUnsupported,
    stubSearchOf,
    // Loaded with the first archive: most of a thread's code is for archives.
    open: async (format, reader, context) => {
      const { openArchive } = await import('../archive/open-archive.ts');
      return openArchive(format, reader, context);
    },
  },
  clock: systemClock,
});
