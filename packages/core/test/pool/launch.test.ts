import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { HoldOptions } from '../../src/pool/pool-port.ts';
import type { Logger } from '@heddle/base/log';
import { silentLogger } from '@heddle/base/log';
import type { Trouble } from '@heddle/test-support/pool/fake-provider';
import { demandOf, MINUTE, Scene, SECOND } from '../support/pool/scene.ts';

const HOLD: HoldOptions = { id: null, holder: 'a client', tenant: null, wait_ms: null };

for (const trouble of ['throttled', 'unclear', 'answer lost'] as const satisfies readonly Trouble[]) {
  test(`${trouble}: the same call is repeated and starts one runner`, async () => {
    const scene = new Scene();
    const pool = scene.pool();
    scene.provider.troubles.push(trouble, trouble);
    pool.start();
    const { id } = await pool.hold(demandOf(), HOLD);
    await scene.pass(MINUTE);
    assert.equal((await pool.request(id)).state, 'granted');
    const calls = scene.launches();
    assert.equal(calls.length, 3);
    assert.equal(new Set(calls).size, 1);
    assert.equal(scene.provider.instances.size, 1);
    assert.equal(scene.count(trouble === 'throttled' ? 'launches throttled' : 'launches unclear'), 2);
    await scene.stop();
  });
}

test('a call that times out is repeated with the same arguments', async () => {
  const scene = new Scene();
  const { provider } = scene;
  let hangs = true;
  const launch = provider.launch.bind(provider);
  provider.launch = (batch) => (hangs ? new Promise(() => undefined) : launch(batch));
  const pool = scene.pool();
  pool.start();
  const { id } = await pool.hold(demandOf(), HOLD);
  await scene.pass(MINUTE);
  hangs = false;
  await scene.pass(2 * MINUTE);
  assert.equal((await pool.request(id)).state, 'granted');
  assert.equal(provider.instances.size, 1);
  await scene.stop();
});

test('without capacity, launches are planned again with growing delays, and requests show the reason', async () => {
  const warnings: string[] = [];
  const log: Logger = { ...silentLogger, warn: (_fields, message) => void warnings.push(message) };
  const scene = new Scene({ log, provider: { capacity: 0 } });
  const pool = scene.pool();
  pool.start();
  const { id } = await pool.hold(demandOf(), HOLD);
  await scene.pass(10 * SECOND);
  assert.equal((await pool.request(id)).reason, 'there are none of these now');
  assert.match(pool.status().obstacles[0]?.reason ?? '', /failed: there are none of these now/);
  assert.match(warnings[0] ?? '', /allow more types, or wait/);
  await scene.pass(30 * MINUTE);
  const calls = scene.launches();
  assert.ok(calls.length >= 8 && calls.length <= 16, `${calls.length} calls`);
  assert.equal(new Set(calls).size, calls.length);
  await scene.stop();
});

test('a process that plans and another that launches both back off after failures', async () => {
  const scene = new Scene({ provider: { capacity: 0 } });
  const [planner, launcher] = [scene.pool(), scene.pool()];
  const { id } = await planner.hold(demandOf(), HOLD);
  for (let second = 0; second < 600; second += 1) {
    await planner.parts.server.runOnce();
    await planner.parts.provisioner.runOnce();
    await launcher.parts.launcher.runOnce();
    await scene.clock.advance(SECOND);
  }
  assert.equal((await planner.request(id)).state, 'waiting');
  assert.ok(scene.launches().length <= 12, `${scene.launches().length} calls`);
  await scene.stop();
});

test('runners that start but never register are not launched repeatedly', async () => {
  const scene = new Scene({ bootMs: null });
  const pool = scene.pool();
  pool.start();
  await pool.hold(demandOf(), HOLD);
  await scene.pass(60 * MINUTE);
  assert.ok(scene.launches().length <= 9, `${scene.launches().length} calls`);
  assert.ok(scene.provider.running.length <= 1);
  await scene.stop();
});

test('a refused launch backs off longer than missing capacity', async () => {
  const scene = new Scene();
  const pool = scene.pool();
  scene.provider.troubles.push('refused', 'refused');
  pool.start();
  const { id } = await pool.hold(demandOf(), HOLD);
  await scene.pass(20 * SECOND);
  assert.equal(scene.launches().length, 1);
  await scene.pass(2 * MINUTE);
  assert.equal((await pool.request(id)).state, 'granted');
  assert.equal(scene.count('launches refused'), 2);
  await scene.stop();
});

test('a throttled launch is listed as an obstacle until it succeeds', async () => {
  const scene = new Scene();
  const pool = scene.pool();
  scene.provider.troubles.push('throttled', 'throttled', 'throttled', 'throttled');
  await pool.hold(demandOf(), HOLD);
  await pool.parts.server.runOnce();
  await pool.parts.provisioner.runOnce();
  await pool.parts.launcher.runOnce();
  const [obstacle] = pool.status().obstacles;
  assert.match(obstacle?.reason ?? '', /throttled/);
  assert.ok(obstacle!.retry_at! > scene.clock.now());
  pool.start();
  await scene.pass(MINUTE);
  assert.deepEqual(pool.status().obstacles, []);
  await scene.stop();
});

test('a refresh retries failed launches at once', async () => {
  const scene = new Scene();
  const pool = scene.pool();
  scene.provider.troubles.push(...Array.from({ length: 5 }, () => 'refused' as const));
  pool.start();
  const { id } = await pool.hold(demandOf(), HOLD);
  await scene.pass(10 * MINUTE);
  scene.provider.troubles.length = 0;
  const tried = scene.launches().length;
  await scene.pass(MINUTE);
  assert.equal(scene.launches().length, tried, 'it waits between launches that fail');
  await pool.refresh();
  await scene.pass(10 * SECOND);
  assert.equal((await pool.request(id)).state, 'granted');
  await scene.stop();
});

test('an incomplete launch is used, and the missing runners are planned again', async () => {
  const scene = new Scene();
  const pool = scene.pool();
  scene.provider.troubles.push({ missing: 2 });
  const ids = [];
  for (let count = 0; count < 5; count += 1) ids.push((await pool.hold(demandOf(), HOLD)).id);
  pool.start();
  await scene.pass(3 * SECOND);
  assert.equal(scene.provider.running.length, 3);
  await scene.pass(20 * SECOND);
  for (const id of ids) assert.equal((await pool.request(id)).state, 'granted');
  assert.equal(scene.provider.running.length, 5);
  assert.deepEqual([scene.count('launches launched'), scene.count('launches missing')], [5, 2]);
  await scene.stop();
});

test('all processes together keep to the launch rate', async () => {
  const scene = new Scene({ policy: { launch_rate: { per_second: 1, burst: 4 }, batch_max: 2 } });
  const pools = [scene.pool(), scene.pool()];
  for (const pool of pools) pool.start();
  for (let count = 0; count < 20; count += 1) await pools[0]!.hold(demandOf(), HOLD);
  await scene.pass(4 * SECOND);
  assert.ok(scene.provider.instances.size <= 9, `${scene.provider.instances.size}`);
  await scene.pass(40 * SECOND);
  assert.equal(scene.provider.instances.size, 20);
  await scene.stop();
});

test('a surplus runner becomes idle and serves the next request', async () => {
  const scene = new Scene({ bootMs: 10 * SECOND });
  const pool = scene.pool();
  pool.start();
  const first = await pool.hold(demandOf(), HOLD);
  await scene.pass(5 * SECOND);
  await pool.releaseHold(first.id);
  await scene.pass(10 * SECOND);
  assert.equal((await scene.runners('idle')).length, 1);
  assert.equal((await pool.hold(demandOf(), HOLD)).state, 'granted');
  assert.equal(scene.launches().length, 1);
  await scene.stop();
});
