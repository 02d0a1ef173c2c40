import { appendFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../src/runtime/clock.ts';
import { stubSearchOf } from '../../src/scan/archive/embedded.ts';
import { detectArchive, detectUnsupported, openArchive } from '../../src/scan/archive/open-archive.ts';
import { createDetector } from '../../src/scan/detect/detector.ts';
import { openOpener } from '../../src/scan/source/open-opener.ts';
import type { WorkerInit } from '../../src/scan/worker/protocol.ts';
import { serveWorker } from '../../src/scan/worker/serve.ts';

/**
 * A worker thread as it is, but that it writes down what it opens where ODD_WORKER_LOG says so, ends at once where an
 * object's name says `crash`, and never comes back from one that says `hang`.
 */
const log = process.env['ODD_WORKER_LOG'];
const cell = new Int32Array(new SharedArrayBuffer(4));

await serveWorker(parentPort!, workerData as WorkerInit, {
  openOpener: async (spec) => {
    const opener = await openOpener(spec);
    return {
      open: (object) => {
        if (log !== undefined) appendFileSync(log, `${object.path}\n`);
        if (object.path.endsWith('crash')) process.exit(7);
        // It goes round for ever, at little cost.
        if (object.path.endsWith('hang')) for (;;) Atomics.wait(cell, 0, 0, 20);
        return opener.open(object);
      },
      close: () => opener.close(),
    };
  },
  createDetector,
  formats: { detect: detectArchive, detectUnsupported, stubSearchOf, open: openArchive },
  clock: systemClock,
});
