import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { HeddlePool } from './heddle-pool.ts';

describe('a pool that is full of idle runners of one class', () => {
  let heddle: HeddlePool;
  before(async () => {
    heddle = await HeddlePool.open({ HEDDLE_POOL_MAX_RUNNERS: '1', HEDDLE_POOL_MIN_IDLE: 'large=1' });
  });
  after(() => heddle.close());

  it('makes room for a task that wants another one', async () => {
    const [idle] = await heddle.runners('idle', 1);
    const id = await heddle.submit('big', 'pool-quick', 1, { resource_class: 'xlarge' });
    assert.deepEqual(await heddle.ended(id), { status: 'Success', attempt: 1 });
    const { state, reason } = await heddle.client.pool.runner(idle!.id);
    assert.deepEqual([state, reason], ['terminated', 'evicted']);
    assert.equal(await heddle.server.end('SIGTERM'), 0);
  });
});
