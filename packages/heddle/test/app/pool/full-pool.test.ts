import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { eventually } from '@heddle/test-support/eventually';
import type { Ready } from '@heddle/test-support/app/heddle-process';
import { DEADLINE_MS, HeddlePool } from '../../support/app/pool/heddle-pool.ts';

describe('a pool that is full of idle runners of one class', () => {
  let heddle: HeddlePool;
  before(async () => {
    heddle = await HeddlePool.open({ HEDDLE_POOL_MAX_RUNNERS: '1', HEDDLE_POOL_MIN_IDLE: 'large=1' });
  });
  after(() => heddle.close());

  it('evicts one for a task that needs another class', async () => {
    const [idle] = await heddle.runners('idle', 1);
    const id = await heddle.submit('big', 'pool-quick', 1, { resource_class: 'xlarge' });
    assert.deepEqual(await heddle.ended(id), { status: 'Success', attempt: 1 });
    const { state, reason } = await heddle.client.pool.runner(idle!.id);
    assert.deepEqual([state, reason], ['terminated', 'evicted']);
    await heddle.client.pool.terminate((await heddle.runners('idle', 1))[0]!.id);
    const { url } = await heddle.server.event<Ready>('ready');
    await eventually(
      async () => {
        const text = await (await fetch(`${url}/metrics`)).text();
        const isCounted = (reason: string): boolean => text.includes(`heddle_pool_ended_total{reason="${reason}"} 1\n`);
        return isCounted('evicted') && isCounted('terminated by a user');
      },
      'both ends are counted',
      DEADLINE_MS,
    );
    assert.equal(await heddle.server.end('SIGTERM'), 0);
  });
});
