import type { MessagePort } from 'node:worker_threads';

import { systemClock } from '@heddle/base/clock';
import { detectArchive, detectUnsupported } from '../archive/detect.ts';
import { stubSearchOf } from '../archive/embedded.ts';
import { createDetector } from '../detect/detector.ts';
import type { LineExplanation } from '../detect/explain/line-explanation.ts';
import { openOpener } from '../source/open-opener.ts';
import type { FromWorker, WorkerInit } from './protocol.ts';
import type { WorkerParts } from './serve.ts';

/** Returns the components of a worker, which loads those of rare work on demand. */
export function workerParts({ explain, detection }: WorkerInit, port: MessagePort): WorkerParts {
  const post = (message: FromWorker): void => port.postMessage(message);
  return {
    openOpener,
    createDetector: async (rules, options, limits) => {
      if (explain === undefined) return createDetector(rules, options, limits);
      const { LineTracer } = await import('../detect/explain/line-tracer.ts');
      const done = (explanation: LineExplanation): void => post({ type: 'explained', explanation });
      return createDetector(rules, options, limits, { tracer: new LineTracer(explain, detection.confidence, done) });
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
  };
}
