import { appendFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '@heddle/base/clock';
import { stubSearchOf } from '../../src/archive/embedded.ts';
import { detectArchive, detectUnsupported, openArchive } from '../../src/archive/open-archive.ts';
import { createDetector } from '../../src/detect/detector.ts';
import { openOpener } from '../../src/source/open-opener.ts';
import type { WorkerInit } from '../../src/worker/protocol.ts';
import { serveWorker } from '../../src/worker/serve.ts';

/**
 * A regular worker thread, except that it logs what it opens to ODD_WORKER_LOG, exits at once if an object's name
 * contains `crash`, and never returns from one with `hang`.
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
        // Loops forever, at little cost.
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
