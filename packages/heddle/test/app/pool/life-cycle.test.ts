import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { eventually } from '@heddle/test-support/eventually';
import { DEADLINE_MS, HeddlePool } from '../../support/app/pool/heddle-pool.ts';

describe('runners that are processes on this machine', () => {
  let heddle: HeddlePool;
  before(async () => {
    heddle = await HeddlePool.open();
  });
  after(() => heddle.close());

  it('are provisioned, run a task each, and are reused', async () => {
    await heddle.provision(2);
    const idle = await heddle.runners('idle', 2);
    const pids = idle.map(({ id }) => heddle.processOf(id));
    const first = await Promise.all(['one', 'two'].map((name) => heddle.submit(name, 'pool-quick')));
    for (const id of first) assert.deepEqual(await heddle.ended(id), { status: 'Success', attempt: 1 });
    for (const name of ['three', 'four', 'five']) await heddle.ended(await heddle.submit(name, 'pool-quick'));
    assert.deepEqual([...new Set(heddle.runs.map(({ pid }) => pid))].sort(), pids.sort(), 'all ran on these two');
    const used = await heddle.runners('idle', 2);
    assert.deepEqual(
      used.map(({ uses }) => uses).reduce((sum, uses) => sum + uses, 0),
      5,
    );
    assert.deepEqual(used.map(({ id }) => id).sort(), idle.map(({ id }) => id).sort());
  });

  it('start together for a task that needs several, which runs on the first and lists all', async () => {
    const id = await heddle.submit('gang', 'pool-quick', 2);
    assert.deepEqual(await heddle.ended(id), { status: 'Success', attempt: 1 });
    const { runners } = await heddle.run('gang');
    assert.deepEqual(
      runners,
      (await heddle.runners('idle', 2)).map(({ number }) => number).sort((one, other) => one - other),
    );
  });

  it('give their task to another one if they are killed', async () => {
    const id = await heddle.submit('unlucky', 'pool-patient');
    const { pid } = await heddle.run('unlucky');
    process.kill(pid, 'SIGKILL');
    const again = await heddle.run('unlucky', 2);
    assert.notEqual(again.pid, pid);
    heddle.letGo('unlucky');
    assert.deepEqual(await heddle.ended(id), { status: 'Success', attempt: 2 });
    const reasons = (await heddle.client.pool.runners({ state: 'terminated' })).map(({ reason }) => reason);
    assert.ok(reasons.includes('its process ended (signal SIGKILL)'), reasons.join('; '));
  });

  it('are launched for a task if there is none, and end with their server', async () => {
    const pids = heddle.processes;
    assert.equal(await heddle.server.end('SIGTERM'), 0);
    assert.ok(pids.length > 0);
    assert.deepEqual(heddle.processes, [], 'the server has waited for them');
    await heddle.start();
    const ended = await heddle.client.pool.runners({ state: 'terminated' });
    assert.equal((await heddle.client.pool.runners()).length, 0);
    assert.ok(ended.length >= pids.length);
    assert.deepEqual(await heddle.ended(await heddle.submit('alone', 'pool-quick')), { status: 'Success', attempt: 1 });
    await heddle.runners('idle', 1);
  });

  it('survive a killed server: the next one continues with them', async () => {
    const [runner] = await heddle.runners('idle', 1);
    const pid = heddle.processOf(runner!.id);
    await heddle.server.end('SIGKILL');
    await heddle.start();
    await heddle.ended(await heddle.submit('inherited', 'pool-quick'));
    assert.equal((await heddle.run('inherited')).pid, pid);
    assert.equal(await heddle.server.end('SIGTERM'), 0);
    assert.deepEqual(heddle.processes, []);
  });

  it('hand back their task and end when they are stopped', async () => {
    await heddle.start();
    const id = await heddle.submit('stopped', 'pool-patient');
    const { pid } = await heddle.run('stopped');
    process.kill(pid, 'SIGTERM');
    const again = await heddle.run('stopped', 2);
    assert.notEqual(again.pid, pid);
    heddle.letGo('stopped');
    assert.deepEqual(await heddle.ended(id), { status: 'Success', attempt: 2 });
    await eventually(() => !heddle.processes.includes(pid), 'its process has ended', DEADLINE_MS);
  });

  it('are drained after their task, and terminated at once', async () => {
    const id = await heddle.submit('drained', 'pool-patient');
    const { pid } = await heddle.run('drained');
    const [running] = await heddle.runners('running', 1);
    assert.equal((await heddle.client.pool.drain(running!.id)).draining, true);
    heddle.letGo('drained');
    assert.deepEqual(await heddle.ended(id), { status: 'Success', attempt: 1 });
    await eventually(() => !heddle.processes.includes(pid), 'its process has ended', DEADLINE_MS);
    const other = await heddle.submit('ended', 'pool-patient');
    await heddle.run('ended');
    const [next] = await heddle.runners('running', 1);
    await heddle.client.pool.terminate(next!.id);
    await heddle.run('ended', 2);
    heddle.letGo('ended');
    assert.deepEqual(await heddle.ended(other), { status: 'Success', attempt: 2 });
    assert.equal(await heddle.server.end('SIGTERM'), 0);
    assert.deepEqual(heddle.processes, []);
  });
});

describe('unused runners', () => {
  it('time out, and used-up ones are replaced', async (t) => {
    const heddle = await HeddlePool.open({ HEDDLE_POOL_IDLE_TIMEOUT_SECS: '1', HEDDLE_POOL_MAX_USES: '1' });
    t.after(() => heddle.close());
    await heddle.provision(2);
    await heddle.runners('terminated', 2);
    await heddle.noProcesses();
    for (const { reason } of await heddle.client.pool.runners({ state: 'terminated' })) {
      assert.equal(reason, 'idle too long');
    }
    for (const name of ['one', 'two']) await heddle.ended(await heddle.submit(name, 'pool-quick'));
    const [one, two] = [await heddle.run('one'), await heddle.run('two')];
    assert.notEqual(one.pid, two.pid);
    await eventually(
      async () => {
        const ended = await heddle.client.pool.runners({ state: 'terminated' });
        return ended.filter(({ reason }) => reason === 'used up').length === 2;
      },
      'both were used up',
      DEADLINE_MS,
    );
    await heddle.noProcesses();
    assert.equal(await heddle.server.end('SIGTERM'), 0);
  });
});

describe('a runner whose handler continues after the timeout of its task', () => {
  it('takes no other task, and ends with the handler', async (t) => {
    const heddle = await HeddlePool.open({
      HEDDLE_POOL_MAX_RUNNERS: '1',
      // Long enough that the pool does not end the runner because of an unconfirmed claim.
      HEDDLE_POOL_CONFIRM_TIMEOUT_SECS: '3600',
      HEDDLE_POOL_CLAIM_TIMEOUT_SECS: '3600',
    });
    t.after(() => heddle.close());
    const stubborn = await heddle.submit('stubborn', 'pool-stubborn', 1, { timeout: 1 });
    const { pid } = await heddle.run('stubborn');
    assert.equal((await heddle.ended(stubborn)).status, 'Failure');
    const next = await heddle.submit('next', 'pool-quick');
    assert.equal((await heddle.ended(next)).status, 'Success');
    assert.notEqual((await heddle.run('next')).pid, pid);
    assert.ok(!heddle.processes.includes(pid), 'the handler ended with its process');
    assert.equal(await heddle.server.end('SIGTERM'), 0);
  });
});

describe('runners on a machine that loses its server', () => {
  it('end by themselves when the database is gone', async (t) => {
    const heddle = new HeddlePool('');
    t.after(() => heddle.close());
    await heddle.start({ HEDDLE_POOL_DISCONNECT_TIMEOUT_SECS: '3' }, ['up']);
    await heddle.provision(1);
    await heddle.runners('idle', 1);
    await heddle.server.end('SIGKILL');
    await heddle.noProcesses();
    await heddle.data.gone();
  });
});
