import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { HoldOptions } from '../../src/pool/pool-port.ts';
import { demandOf, MINUTE, Scene, SECOND } from '../support/pool/scene.ts';

const HOLD: HoldOptions = { id: null, holder: 'a client', tenant: null, wait_ms: null };

function terminations(scene: Scene): readonly string[] {
  return scene.provider.calls.filter(({ method }) => method === 'terminate').flatMap(({ ids }) => ids);
}

test('an instance without a runner is terminated within two minutes, but not within the first one', async () => {
  const scene = new Scene();
  const stray = scene.provider.stray();
  const pool = scene.pool();
  pool.start();
  await scene.pass(55 * SECOND);
  assert.equal(scene.provider.running.length, 1);
  await scene.pass(65 * SECOND);
  assert.deepEqual(scene.provider.running, []);
  assert.deepEqual(terminations(scene), [stray.provider_id]);
  assert.equal(scene.count('reaped orphan'), 1);
  await scene.stop();
});

test('a failed listing changes nothing, however many pages it returned', async () => {
  const scene = new Scene();
  for (let count = 0; count < 5; count += 1) scene.provider.stray();
  const pool = scene.pool();
  const { id } = await pool.hold(demandOf(), HOLD);
  pool.start();
  await scene.pass(10 * SECOND);
  scene.provider.broken = 'list';
  await scene.pass(10 * MINUTE);
  assert.equal((await pool.request(id)).state, 'granted');
  assert.deepEqual(terminations(scene), []);
  await scene.stop();
});

test('a running runner with heartbeats survives missing from listings', async () => {
  const scene = new Scene({ provider: { listLagMs: 10 * MINUTE } });
  const pool = scene.pool();
  const { id } = await pool.hold(demandOf(), HOLD);
  pool.start();
  await scene.pass(8 * MINUTE);
  assert.equal((await pool.request(id)).runners[0]?.state, 'running');
  assert.deepEqual(terminations(scene), []);
  await scene.stop();
});

test('a runner whose instance vanished ends, and its request gets another one', async () => {
  const scene = new Scene();
  const pool = scene.pool();
  const { id } = await pool.hold(demandOf(), HOLD);
  pool.start();
  await scene.pass(10 * SECOND);
  const [first] = scene.provider.running;
  scene.provider.vanish(first!.provider_id);
  scene.provider.forget();
  await scene.pass(4 * MINUTE);
  const { state, runners } = await pool.request(id);
  assert.equal(state, 'granted');
  assert.notEqual(runners[0]?.id, first!.runner_id);
  assert.equal(scene.count('reaped vanished') + scene.count('ended lost'), 1);
  await scene.stop();
});

test('the provider is asked to terminate the instance of an ended runner until it is gone', async () => {
  const scene = new Scene();
  const pool = scene.pool();
  await pool.provision(demandOf());
  pool.start();
  await scene.pass(10 * SECOND);
  const [runner] = await scene.runners('idle');
  scene.provider.broken = 'terminate';
  await pool.terminate([runner!.id]);
  // The agent would end its machine itself once notified.
  for (const agent of scene.agents.values()) await agent.stop();
  await scene.pass(20 * SECOND);
  assert.equal(scene.provider.running.length, 1);
  scene.provider.broken = null;
  await scene.pass(MINUTE);
  assert.deepEqual(scene.provider.running, []);
  await scene.pass(MINUTE);
  assert.deepEqual(await scene.store.leaving('fake', 10), []);
  await scene.stop();
});

test('an instance that its provider does not list yet is not taken for gone', async () => {
  const scene = new Scene({ bootMs: null, provider: { listLagMs: 40 * SECOND } });
  const { provider, clock } = scene;
  const terminate = provider.terminate.bind(provider);
  // Terminating an unknown instance is not an error.
  provider.terminate = (ids) =>
    terminate(ids.filter((id) => (provider.instances.get(id)?.listed_from ?? Infinity) <= clock.now()));
  const pool = scene.pool();
  const { reaper } = pool.parts;
  await pool.provision(demandOf());
  await pool.parts.launcher.runOnce();
  const [runner] = await scene.runners();
  await pool.terminate([runner!.id]);
  assert.equal(await reaper.terminateLeaving(), 1);
  for (const ms of [0, 30 * SECOND, 15 * SECOND]) {
    await clock.advance(ms);
    assert.equal((await reaper.reconcile()).gone, 0);
    assert.equal(provider.running.length, 1);
  }
  assert.equal(await reaper.terminateLeaving(), 0);
  await clock.advance(15 * SECOND);
  assert.equal(await reaper.terminateLeaving(), 1);
  assert.deepEqual(provider.running, []);
  assert.equal((await reaper.reconcile()).gone, 1);
  assert.deepEqual(await scene.store.leaving('fake', 10), []);
  await scene.stop();
});

test('an unlisted instance is gone at the second check, a minute after its termination was requested', async () => {
  const scene = new Scene({ bootMs: null });
  const pool = scene.pool();
  const { reaper } = pool.parts;
  await pool.provision(demandOf());
  await pool.parts.launcher.runOnce();
  const [runner] = await scene.runners();
  await pool.terminate([runner!.id]);
  await reaper.terminateLeaving();
  scene.provider.forget();
  assert.equal((await reaper.reconcile()).gone, 0);
  await scene.clock.advance(MINUTE);
  assert.equal((await reaper.reconcile()).gone, 1);
  await scene.stop();
});

test('instances that cannot be terminated do not affect others', async () => {
  const scene = new Scene({
    bootMs: null,
    policy: { max_runners: 200, batch_max: 200, launch_rate: { per_second: 200, burst: 200 } },
  });
  const pool = scene.pool();
  await pool.provision(demandOf({ count: 150 }));
  await pool.parts.launcher.runOnce();
  const runners = await scene.runners();
  await pool.terminate(runners.map(({ id }) => id));
  const terminate = scene.provider.terminate.bind(scene.provider);
  let calls = 0;
  scene.provider.terminate = (ids) => {
    calls += 1;
    return calls === 1 ? Promise.reject(new Error('one of these is protected')) : terminate(ids);
  };
  await assert.rejects(pool.parts.reaper.terminateLeaving(), /protected/);
  assert.equal(scene.provider.running.length, 100);
  assert.equal(await pool.parts.reaper.terminateLeaving(), 100);
  assert.equal(scene.provider.running.length, 0);
  await scene.stop();
});

test('old runners are deleted', async () => {
  const scene = new Scene({ policy: { keep_ms: 10 * MINUTE } });
  const pool = scene.pool();
  await pool.provision(demandOf());
  pool.start();
  await scene.pass(8 * MINUTE);
  assert.equal((await scene.runners('terminated')).length, 1);
  await scene.pass(12 * MINUTE);
  assert.deepEqual(await scene.runners(), []);
  await scene.stop();
});
