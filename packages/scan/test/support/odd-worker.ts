import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '@heddle/base/clock';
import { eventually } from '@heddle/test-support/eventually';
import { stubSearchOf } from '../../src/archive/embedded.ts';
import { detectArchive, detectUnsupported, openArchive } from '../../src/archive/open-archive.ts';
import type { ArchiveReader } from '../../src/archive/port.ts';
import { createDetector } from '../../src/detect/detector.ts';
import type { ObjectReader } from '../../src/source/port.ts';
import { openOpener } from '../../src/source/open-opener.ts';
import type { ToWorker, WorkerInit } from '../../src/worker/protocol.ts';
import { serveWorker } from '../../src/worker/serve.ts';

/**
 * A regular worker thread, except that it logs what it opens to ODD_WORKER_LOG, exits at once if an object's name
 * contains `crash`, and never returns from one with `hang`. A `shared` object is read past its beginning only once two
 * threads have opened it; if it is `shared-lost`, the second one exits. The entries of an archive with `helped` in its
 * path are read past 640 KiB only once another thread helps; if it is `helped-lost`, that one exits soon.
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
  formats: {
    detect: detectArchive,
    detectUnsupported,
    stubSearchOf,
    open: async (format, reader, context) => {
      const archive = await openArchive(format, reader, context);
      return context.path.includes('helped') ? helped(context.path, archive) : archive;
    },
  },
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

parentPort!.on('message', (message: ToWorker) => {
  if (message.type !== 'help' || message.object.stream === undefined) return;
  const { locator } = message.object;
  const isFirst = !existsSync(`${locator}.help`);
  writeFileSync(`${locator}.help`, '');
  if (isFirst && locator.endsWith('helped-lost')) setImmediate(() => process.exit(7));
});

function helped(path: string, archive: ArchiveReader): ArchiveReader {
  return {
    format: archive.format,
    next: async () => {
      const entry = await archive.next();
      if (entry === null) return null;
      return { ...entry, open: () => untilHelped(path.slice(0, path.search(/!|$/)), entry.open()) };
    },
    close: () => archive.close(),
  };
}

function untilHelped(path: string, reader: ObjectReader): ObjectReader {
  return {
    size: reader.size,
    access: reader.access,
    read: async (target, start, length, offset) => {
      if (offset >= 640 * 1024) await eventually(() => existsSync(`${path}.help`), 'a second thread helps');
      return reader.read(target, start, length, offset);
    },
    close: () => reader.close(),
  };
}
