import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '@heddle/base/clock';
import { eventually } from '@heddle/test-support/eventually';
import { stubSearchOf } from '../../src/archive/embedded.ts';
import { detectArchive, detectUnsupported, openArchive } from '../../src/archive/open-archive.ts';
import { createDetector } from '../../src/detect/detector.ts';
import type { ObjectReader } from '../../src/source/port.ts';
import { openOpener } from '../../src/source/open-opener.ts';
import type { WorkerInit } from '../../src/worker/protocol.ts';
import { serveWorker } from '../../src/worker/serve.ts';

/**
 * A regular worker thread, except that it logs what it opens to ODD_WORKER_LOG, exits at once if an object's name
 * contains `crash`, and never returns from one with `hang`. A `shared` object is read past its beginning only once two
 * threads have opened it; if it is `shared-lost`, the second one exits.
 */
const log = process.env['ODD_WORKER_LOG'];
const cell = new Int32Array(new SharedArrayBuffer(4));

await serveWorker(parentPort!, workerData as WorkerInit, {
  openOpener: async (spec) => {
    const opener = await openOpener(spec);
    return {
      open: async (object) => {
        if (log !== undefined) appendFileSync(log, `${object.path}\n`);
        if (object.path.endsWith('crash')) process.exit(7);
        // Loops forever, at little cost.
        if (object.path.endsWith('hang')) for (;;) Atomics.wait(cell, 0, 0, 20);
        const reader = await opener.open(object);
        return object.path.includes('shared') ? shared(object, reader) : reader;
      },
      close: () => opener.close(),
    };
  },
  createDetector,
  formats: { detect: detectArchive, detectUnsupported, stubSearchOf, open: openArchive },
  clock: systemClock,
});

/** Notes that a second thread opened an object, and delays the first one until then. */
function shared(object: { path: string; locator: string }, reader: ObjectReader): ObjectReader {
  const isOpened = `${object.locator}.opened`;
  const isOpenedAgain = `${isOpened}.again`;
  if (existsSync(isOpened)) {
    const isSecond = !existsSync(isOpenedAgain);
    writeFileSync(isOpenedAgain, '');
    if (isSecond && object.path.endsWith('lost')) process.exit(7);
    return reader;
  }
  writeFileSync(isOpened, '');
  return {
    size: reader.size,
    access: reader.access,
    ...(reader.version === undefined ? {} : { version: reader.version }),
    read: async (target, start, length, offset) => {
      if (offset > 0) await eventually(() => existsSync(isOpenedAgain), 'a second thread opens the object');
      return reader.read(target, start, length, offset);
    },
    close: () => reader.close(),
  };
}
