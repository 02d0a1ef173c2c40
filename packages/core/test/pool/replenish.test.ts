import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { MinIdle } from '../../src/pool/context.ts';
import { IdleTargets } from '../../src/pool/min-idle.ts';
import type { HoldOptions } from '../../src/pool/pool-port.ts';
import { demandOf, MINUTE, Scene, SECOND } from '../support/pool/scene.ts';

const HOLD: HoldOptions = { id: null, holder: 'a client', tenant: null, wait_ms: null };

function entryOf(overrides: Partial<MinIdle> = {}): MinIdle {
  return {
    resource_class: 'large',
    usage_class: 'on-demand',
    count: 2,
    schedule: null,
    time_zone: 'UTC',
    ...overrides,
  };
}

function countAt(moment: string, ...entries: readonly MinIdle[]): number {
  return new IdleTargets(entries).at(Date.parse(moment))[0]?.count ?? 0;
}

test('a schedule applies for each whole minute in its time zone', () => {
  const office = entryOf({ schedule: '* 8-17 * * 1-5', time_zone: 'Europe/Berlin' });
  assert.equal(countAt('2026-01-05T06:59:59.999Z', office), 0);
  assert.equal(countAt('2026-01-05T07:00:00.000Z', office), 2);
  assert.equal(countAt('2026-01-05T07:00:59.999Z', office), 2);
  assert.equal(countAt('2026-01-05T16:59:59.999Z', office), 2);
  assert.equal(countAt('2026-01-05T17:00:00.000Z', office), 0);
  // In summer, clocks in that zone are an hour ahead of those in winter.
  assert.equal(countAt('2026-07-06T06:00:00.000Z', office), 2);
  assert.equal(countAt('2026-01-04T10:00:00.000Z', office), 0);
});

test('of several entries that apply, the highest counts', () => {
  const entries = [entryOf({ count: 1 }), entryOf({ count: 5, schedule: '0 12 * * *' })];
  assert.equal(countAt('2026-01-05T11:59:00Z', ...entries), 1);
  assert.equal(countAt('2026-01-05T12:00:30Z', ...entries), 5);
});

test('the minimum stays idle beyond its timeout, and claimed runners are replaced', async () => {
  const scene = new Scene({ policy: { min_idle: [entryOf()] } });
  const pools = [scene.pool(), scene.pool()];
  for (const pool of pools) pool.start();
  await scene.pass(15 * SECOND);
  assert.equal((await scene.runners('idle')).length, 2);
  const { state } = await pools[0]!.hold(demandOf(), HOLD);
  assert.equal(state, 'granted');
  await scene.pass(15 * SECOND);
  assert.equal((await scene.runners('idle')).length, 2);
  await scene.pass(10 * MINUTE);
  assert.equal((await scene.runners('idle')).length, 2);
  assert.equal(scene.provider.instances.size, 3);
  await scene.stop();
});

test('runners launched for waiting requests do not count, other launching ones do', async () => {
  const scene = new Scene({ bootMs: 20 * SECOND, policy: { min_idle: [entryOf({ count: 1 })] } });
  const pool = scene.pool();
  await pool.hold(demandOf({ count: 2, allowed_instance_types: ['a.*'] }), HOLD);
  pool.start();
  await scene.pass(15 * SECOND);
  assert.equal(scene.provider.instances.size, 3);
  await scene.pass(30 * SECOND);
  assert.equal((await scene.runners('idle')).length, 1);
  assert.equal(scene.provider.instances.size, 3);
  await scene.stop();
});

test('waiting requests come first if capacity is scarce', async () => {
  const scene = new Scene({ policy: { max_runners: 3, min_idle: [entryOf({ count: 3, resource_class: 'xlarge' })] } });
  const pool = scene.pool();
  const { id } = await pool.hold(demandOf({ count: 2 }), HOLD);
  pool.start();
  await scene.pass(15 * SECOND);
  assert.equal((await pool.request(id)).state, 'granted');
  assert.equal((await scene.runners('idle')).length, 1);
  assert.match(pool.status().obstacles[0]?.reason ?? '', /3 idle runners of xlarge .* lower HEDDLE_POOL_MIN_IDLE/);
  await scene.stop();
});

test('after consecutive failed launches, one runner at a time is tried until one registers', async () => {
  const scene = new Scene({ policy: { min_idle: [entryOf({ count: 5 })] }, provider: { capacity: 0 } });
  const pool = scene.pool();
  pool.start();
  await scene.pass(5 * MINUTE);
  const failed = scene.launches().length;
  assert.ok(failed >= 3 && failed <= 8, `${failed} launches`);
  assert.match(pool.status().obstacles.at(-1)?.reason ?? '', /the last \d+ launches failed: there are none/);
  const planned = await scene.runners('terminated');
  assert.equal(planned.filter(({ created_at }) => created_at > scene.clock.now() - 4 * MINUTE).length <= 5, true);
  const free = new Scene({ policy: { min_idle: [entryOf({ count: 5 })] } });
  const other = free.pool();
  free.provider.troubles.push('capacity', 'capacity', 'capacity');
  other.start();
  await free.pass(4 * MINUTE);
  assert.equal((await free.runners('idle')).length, 5);
  await scene.stop();
  await free.stop();
});
