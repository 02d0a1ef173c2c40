import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { HoldOptions } from '../../src/pool/pool-port.ts';
import type { Logger } from '../../src/runtime/log.ts';
import { silentLogger } from '../../src/runtime/log.ts';
import type { Trouble } from './fake-provider.ts';
import { demandOf, MINUTE, Scene, SECOND } from './scene.ts';

const HOLD: HoldOptions = { id: null, holder: 'somebody', tenant: null, wait_ms: null };

for (const trouble of ['throttled', 'unclear', 'answer lost'] as const satisfies readonly Trouble[]) {
  test(`${trouble}: the same call again, and one runner in the end`, async () => {
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

test('a call that never answers is made again with the same words', async () => {
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

test('without capacity it is planned anew, later and later, and those who wait are told why', async () => {
  const warnings: string[] = [];
  const log: Logger = { ...silentLogger, warn: (_fields, message) => void warnings.push(message) };
  const scene = new Scene({ log, provider: { capacity: 0 } });
  const pool = scene.pool();
  pool.start();
  const { id } = await pool.hold(demandOf(), HOLD);
  await scene.pass(10 * SECOND);
  assert.equal((await pool.request(id)).reason, 'there are none of these now');
  assert.match(pool.status().obstacles[0]?.reason ?? '', /failed: there are none of these now/);
  assert.match(warnings[0] ?? '', /allow more instance types, or wait/);
  await scene.pass(30 * MINUTE);
  const calls = scene.launches();
  assert.ok(calls.length >= 8 && calls.length <= 16, `${calls.length} calls`);
  assert.equal(new Set(calls).size, calls.length);
  await scene.stop();
});

test('two processes, of which one plans and the other launches, wait between launches that fail all the same', async () => {
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

test('runners that come up and never speak are not launched over and over', async () => {
  const scene = new Scene({ bootMs: null });
  const pool = scene.pool();
  pool.start();
  await pool.hold(demandOf(), HOLD);
  await scene.pass(60 * MINUTE);
  assert.ok(scene.launches().length <= 9, `${scene.launches().length} calls`);
  assert.ok(scene.provider.running.length <= 1);
  await scene.stop();
});

test('what is refused waits longer than what is not there', async () => {
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

test('a launch that the provider throttles stands among what holds launches back, until it is made', async () => {
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

test('a refresh lets what failed be launched at once', async () => {
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

test('of a launch that brought fewer, what came is used, and the rest is planned anew', async () => {
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

test('no more runners are launched in a second than the rate allows, whoever launches', async () => {
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

test('a surplus is idle: what was launched for somebody who was served meanwhile serves the next', async () => {
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
