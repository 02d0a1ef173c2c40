import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { HeddlePool } from '../../support/app/pool/heddle-pool.ts';

describe('runners found through queues', () => {
  for (const backend of ['sqs-classic', 'sqs-sharded']) {
    it(`run tasks one after the other, by ${backend}`, async (t) => {
      const heddle = await HeddlePool.open({
        HEDDLE_POOL_BACKEND: backend,
        HEDDLE_POOL_REQUEUE_DELAY_SECS: '0.2',
        HEDDLE_POOL_VISIBILITY_SECS: '5',
      });
      t.after(() => heddle.close());
      await heddle.provision(1);
      await heddle.runners('idle', 1);
      for (const name of ['one', 'two']) {
        const ended = await heddle.ended(await heddle.submit(name, 'pool-quick'));
        assert.deepEqual(ended, { status: 'Success', attempt: 1 });
      }
      assert.equal((await heddle.client.pool.get()).backend, backend);
      assert.equal(await heddle.server.end('SIGTERM'), 0);
      assert.deepEqual(heddle.processes, []);
    });
  }
});
