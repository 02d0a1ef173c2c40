import assert from 'node:assert/strict';
import { test } from 'node:test';

import { LOAD_CASES, runLoad } from '../../support/pool/simulator/cases.ts';

for (const load of LOAD_CASES) {
  test(`${load.name}: the index and the shards serve all requests, at about one operation each`, async () => {
    const indexed = await runLoad(load, 'postgres');
    assert.deepEqual([indexed.share, indexed.missed], [1, 0]);
    assert.ok(indexed.operations <= 1, `${indexed.operations} operations a request`);
    const sharded = await runLoad(load, 'sqs-sharded');
    assert.deepEqual([sharded.share, sharded.missed], [1, 0]);
    assert.ok(sharded.operations <= 5, `${sharded.operations} operations a request`);
  });
}
