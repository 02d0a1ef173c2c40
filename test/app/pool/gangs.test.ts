import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { HeddlePool } from './heddle-pool.ts';

describe('a task with several runners', () => {
  let heddle: HeddlePool;
  before(async () => {
    heddle = await HeddlePool.open({ HEDDLE_POOL_MAX_RUNNERS: '2' });
  });
  after(() => heddle.close());

  it('hears that one of the others is lost, and goes on as its handler sees fit', async () => {
    const id = await heddle.submit('pair', 'pool-gang', 2);
    const { pid, runners } = await heddle.run('pair');
    const live = await heddle.runners('running', 2);
    const peer = live.find((runner) => heddle.processOf(runner.id) !== pid)!;
    process.kill(heddle.processOf(peer.id), 'SIGKILL');
    assert.deepEqual(await heddle.ended(id), { status: 'Success', attempt: 1 });
    const result = await heddle.client.taskResult(id);
    assert.deepEqual(result?.data, { lost: [peer.number] });
    assert.ok(runners.includes(peer.number));
    assert.equal(await heddle.server.end('SIGTERM'), 0);
  });
});
