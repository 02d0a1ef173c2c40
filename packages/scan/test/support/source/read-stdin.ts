/** Reads standard input through its source, in a thread like a scan, and prints the result. */
import { createHash } from 'node:crypto';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

import { EnumCursor } from '../../../src/graph/cursor.ts';
import { openOpener } from '../../../src/source/open-opener.ts';
import { openSource } from '../../../src/source/open-source.ts';

const SPEC = { type: 'stdin', name: 'input.txt' } as const;

if (isMainThread) {
  new Worker(new URL(import.meta.url)).on('message', (result: object) => {
    const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
    console.log(JSON.stringify({ ...result, cpu_ms: (userCPUTime + systemCPUTime) / 1000, rss_bytes: maxRSS * 1024 }));
  });
} else {
  const source = await openSource(SPEC);
  const { objects, cursor } = await source.enumerate(EnumCursor.start(), 1);
  const opener = await openOpener(SPEC);
  const reader = await opener.open(objects[0]!);
  const target = Buffer.alloc(1024 * 1024);
  const hash = createHash('sha256');
  let bytes = 0;
  for (;;) {
    const count = await reader.read(target, 0, target.length, bytes);
    if (count === 0) break;
    hash.update(target.subarray(0, count));
    bytes += count;
  }
  const problem = (await reader.close()) ?? null;
  await opener.close();
  const { path } = objects[0]!;
  parentPort!.postMessage({ path, bytes, sha256: hash.digest('hex'), problem, done: cursor.isDone });
}
