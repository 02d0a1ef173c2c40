import { parentPort, workerData } from 'node:worker_threads';
import { CountBudget } from '../../../src/graph/count-budget.ts';
import { ObjectFrontier } from '../../../src/graph/frontier.ts';
import { liveCounts } from '../../../src/graph/live.ts';

/** Takes objects through a frontier shared with other threads; two steps hold each of them for some turns. */
const { memory, owner, objects } = workerData as { memory: SharedArrayBuffer; owner: number; objects: number };
const frontier = new ObjectFrontier(CountBudget.attach(memory, owner), 0);
let completed = 0;
// Waiting for a permit alone does not keep a thread alive; handling messages, as the scanner does, does.
parentPort!.on('message', () => undefined);
await Promise.all(
  Array.from({ length: objects }, async (_, idx) => {
    const descriptor = {
      path: `${owner}/${idx}`,
      size_hint: 1,
      object_id: { source: owner, idx, entry: 0 },
      source_id: owner,
    };
    const fetch = await frontier.acquire(descriptor, 0);
    const scan = fetch.clone();
    fetch[Symbol.dispose]();
    for (let turn = 0; turn < idx; turn++) await Promise.resolve();
    scan[Symbol.dispose]();
    completed += 1;
  }),
);
parentPort!.postMessage({ completed, live: liveCounts() });
