/** Operations on a run of many tasks, in a database of which the planner knows nothing yet. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { HeddleClient } from '@heddle/client';
import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';

const TASKS = 40_000;

let heddle: Heddle;
let client: HeddleClient;

before(async () => {
  heddle = await startHeddle();
  client = new HeddleClient({ baseUrl: heddle.url });
});

after(() => heddle.stop());

test('each looks at every task once, and so ends long before a statement times out', async () => {
  const tasks = Array.from({ length: TASKS }, (_, i) => ({ name: `task ${i}`, kind: 'not-claimed' }));
  const { batchId } = await client.submit(tasks);
  for (const operation of ['pause', 'resume', 'cancel', 'retry'] as const) {
    const { changed } = await client.operations.changeRuns(operation, [batchId!]);
    assert.deepEqual(changed, [batchId], operation);
  }
});
