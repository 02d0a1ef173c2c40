import { type MessagePort, parentPort, workerData } from 'node:worker_threads';

import { systemClock } from '@heddle/base/clock';
import { detectArchive, detectUnsupported } from '../archive/detect.ts';
import { stubSearchOf } from '../archive/embedded.ts';
import { createDetector } from '../detect/detector.ts';
import type { LineExplanation } from '../detect/explain/line-explanation.ts';
import { openOpener } from '../source/open-opener.ts';
import { type FromWorker, receiveInit } from './protocol.ts';
import { serveWorker } from './serve.ts';

if (parentPort === null) throw new Error('scan: this file is the entry of a worker thread');

const port = parentPort;
const init = await receiveInit(workerData as MessagePort);
const post = (message: FromWorker): void => port.postMessage(message);

await serveWorker(port, init, {
  openOpener,
  createDetector: async (rules, options, limits) => {
    if (init.explain === undefined) return createDetector(rules, options, limits);
    const { LineTracer } = await import('../detect/explain/line-tracer.ts');
    const done = (explanation: LineExplanation): void => post({ type: 'explained', explanation });
    return createDetector(rules, options, limits, { tracer: new LineTracer(init.explain, options.confidence, done) });
  },
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
