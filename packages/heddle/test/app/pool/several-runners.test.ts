import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { eventually } from '@heddle/test-support/eventually';
import { DEADLINE_MS, HeddlePool } from '../../support/app/pool/heddle-pool.ts';

const requirements = (count: number) => ({ resource_class: 'large', count });

describe('several runners of a hold or a task', () => {
  let heddle: HeddlePool;
  before(async () => {
    heddle = await HeddlePool.open({ HEDDLE_POOL_MAX_RUNNERS: '3' });
  });
  after(() => heddle.close());

  it('stay together if one of them is killed, until the hold is released', async () => {
    const { pool } = heddle.client;
    const first = await pool.hold({ requirements: requirements(3), holder: 'first', wait_secs: 60 });
    assert.equal(first.state, 'granted');
    const ids = first.runners.map(({ id }) => id);
    const others = [];
    for (const holder of ['second', 'third'])
      others.push(await pool.hold({ requirements: requirements(1), holder, wait_secs: 0 }));
    process.kill(heddle.processOf(ids[1]!), 'SIGKILL');
    const broken = await eventually(
      async () => {
        const request = await pool.request(first.id);
        return request.runners.some(({ id }) => id === ids[1]) ? undefined : request;
      },
      'the hold has lost a runner',
      DEADLINE_MS,
    );
    const kept = [ids[0], ids[2]];
    for (const id of kept) assert.ok(broken.runners.some((runner) => runner.id === id));
    const whole = await pool.hold({ id: first.id, requirements: requirements(3), holder: 'first', wait_secs: 60 });
    assert.equal(whole.state, 'granted');
    assert.equal(whole.runners.length, 3);
    for (const id of kept) assert.ok(whole.runners.some((runner) => runner.id === id));
    for (const { id } of others) assert.equal((await pool.request(id)).state, 'waiting', 'they got nothing of it');
    await pool.letGo(first.id);
    for (const { id } of others)
      await eventually(async () => (await pool.request(id)).state === 'granted', 'they are served', DEADLINE_MS);
    for (const { id } of others) await pool.letGo(id);
  });

  it('are lost to a task one by one: its handler is notified and may continue', async () => {
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
