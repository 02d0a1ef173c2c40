import assert from 'node:assert/strict';
import { test } from 'node:test';

import { HeddleError, type ErrorCode } from '@heddle/base/errors';
import { newCounts } from '../../src/pool/backends/queue-backend.ts';
import type { HoldOptions } from '../../src/pool/pool-port.ts';
import type { Served } from '../../src/pool/port/backend.ts';
import type { Logger } from '@heddle/base/log';
import { silentLogger } from '@heddle/base/log';
import { demandOf, MINUTE, Scene, SECOND } from '../support/pool/scene.ts';

const HOLD: HoldOptions = { id: null, holder: 'a client', tenant: null, wait_ms: null };
const ID = '018bcfe5-6800-7000-8000-0000000000aa';

async function refusal(work: Promise<unknown>, code: ErrorCode): Promise<string> {
  const error: unknown = await work.then(
    () => assert.fail('it was accepted'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof HeddleError, String(error));
  assert.equal(error.code, code);
  return [error.message, ...error.details].join('\n');
}

test('a request gets a new runner, the next request reuses it, and an unused runner times out', async () => {
  const scene = new Scene();
  const pool = scene.pool();
  pool.start();
  const first = await pool.hold(demandOf(), HOLD);
  assert.equal(first.state, 'waiting');
  await scene.pass(10 * SECOND);
  const granted = await pool.request(first.id);
  assert.equal(granted.state, 'granted');
  assert.deepEqual(
    granted.runners.map(({ state }) => state),
    ['running'],
  );
  assert.equal((await pool.releaseHold(first.id)).state, 'ended');
  await scene.pass(SECOND);
  const second = await pool.hold(demandOf(), HOLD);
  assert.equal(second.state, 'granted');
  assert.deepEqual(
    second.runners.map(({ id }) => id),
    granted.runners.map(({ id }) => id),
  );
  await pool.releaseHold(second.id);
  assert.equal(scene.launches().length, 1);
  assert.deepEqual([scene.count('pickup launch'), scene.count('pickup idle')], [1, 1]);
  await scene.pass(8 * MINUTE);
  assert.equal(scene.count('ended idle too long'), 1);
  assert.deepEqual(scene.provider.running, []);
  assert.deepEqual(await scene.store.leaving('fake', 10), []);
  await scene.stop();
});

test('a request served by a released runner does not count as a launch', async () => {
  const scene = new Scene({ policy: { max_runners: 1 } });
  const pool = scene.pool();
  pool.start();
  const first = await pool.hold(demandOf(), HOLD);
  await scene.pass(10 * SECOND);
  const second = await pool.hold(demandOf(), HOLD);
  await scene.pass(10 * SECOND);
  await pool.releaseHold(first.id);
  await scene.pass(10 * SECOND);
  assert.equal((await pool.request(second.id)).state, 'granted');
  assert.deepEqual([scene.count('pickup launch'), scene.count('pickup idle')], [1, 1]);
  await scene.stop();
});

test('two pools over one store launch each runner once', async () => {
  const scene = new Scene();
  const pools = [scene.pool(), scene.pool()];
  for (const pool of pools) pool.start();
  const ids = [];
  for (let count = 0; count < 25; count += 1) ids.push((await pools[count % 2]!.hold(demandOf(), HOLD)).id);
  ids.push((await pools[0]!.hold(demandOf({ count: 5 }), HOLD)).id);
  await scene.pass(30 * SECOND);
  for (const id of ids) assert.equal((await pools[0]!.request(id)).state, 'granted');
  assert.equal(scene.provider.instances.size, 30);
  const held = (await scene.runners('running')).map(({ request_id }) => request_id);
  assert.equal(held.length, 30);
  await scene.stop();
});

test('a repeated id returns the same request; with a different demand it is refused', async () => {
  const scene = new Scene();
  const pool = scene.pool();
  const hold = { ...HOLD, id: ID };
  assert.equal((await pool.hold(demandOf(), hold)).id, ID);
  assert.equal((await pool.hold(demandOf(), hold)).id, ID);
  assert.equal((await pool.waiting(10)).length, 1);
  await refusal(pool.hold(demandOf({ count: 2 }), hold), 'IDEMPOTENCY_MISMATCH');
  await refusal(pool.hold(demandOf({ usage_class: 'spot' }), hold), 'IDEMPOTENCY_MISMATCH');
});

test('a request expires after its maximum wait', async () => {
  const scene = new Scene({ bootMs: null });
  const pool = scene.pool();
  pool.start();
  const { id } = await pool.hold(demandOf(), { ...HOLD, wait_ms: 5 * SECOND });
  await scene.pass(10 * SECOND);
  assert.equal((await pool.request(id)).state, 'ended');
  await scene.stop();
});

test('invalid calls are refused with the remedy', async () => {
  const scene = new Scene({ policy: { max_runners: 4 } });
  const pool = scene.pool();
  assert.match(
    await refusal(pool.hold(demandOf({ count: 5 }), HOLD), 'VALIDATION_FAILED'),
    /count: must be at most 4, not 5: .*HEDDLE_POOL_MAX_RUNNERS/,
  );
  assert.match(
    await refusal(pool.hold(demandOf({ resource_class: 'tiny' }), HOLD), 'VALIDATION_FAILED'),
    /"tiny"; known classes: large, xlarge/,
  );
  assert.match(
    await refusal(pool.hold(demandOf(), { ...HOLD, id: 'x', holder: '', wait_ms: 0 }), 'VALIDATION_FAILED'),
    /id: .*\nholder: .*\nwait_ms: /,
  );
  assert.match(
    await refusal(pool.provision(demandOf({ resource_class: 'tiny' })), 'VALIDATION_FAILED'),
    /known classes: large, xlarge/,
  );
  await refusal(pool.request('x'), 'NOT_FOUND');
  await refusal(pool.request(ID), 'NOT_FOUND');
  await refusal(pool.releaseHold(ID), 'NOT_FOUND');
  assert.match(await refusal(pool.drain([ID, 'x']), 'VALIDATION_FAILED'), /runner_ids\[1\]/);
  await refusal(pool.drain(Array.from({ length: 1_001 }, () => ID)), 'VALIDATION_FAILED');
});

test('warm runners are launched once per id, up to the limit', async () => {
  const scene = new Scene({ policy: { max_runners: 5, batch_max: 2 } });
  const pool = scene.pool();
  pool.start();
  const first = await pool.provision(demandOf({ count: 3 }), ID);
  assert.deepEqual([first.runner_ids.length, first.not_launched, first.reason], [3, 0, null]);
  assert.deepEqual(await pool.provision(demandOf({ count: 3 }), ID), first);
  const others = [
    { count: 2 },
    { count: 4 },
    { resource_class: 'xlarge' },
    { usage_class: 'spot' },
    { cpu: 1 },
  ] as const;
  for (const other of others) {
    assert.match(
      await refusal(pool.provision(demandOf({ count: 3, ...other }), ID), 'IDEMPOTENCY_MISMATCH'),
      /use another ID/,
    );
  }
  const second = await pool.provision(demandOf({ count: 3 }));
  assert.deepEqual([second.runner_ids.length, second.not_launched], [2, 1]);
  assert.match(second.reason ?? '', /HEDDLE_POOL_MAX_RUNNERS/);
  assert.match(await refusal(pool.provision(demandOf()), 'CONFLICT'), /HEDDLE_POOL_MAX_RUNNERS/);
  await scene.pass(10 * SECOND);
  assert.equal((await scene.runners('idle')).length, 5);
  assert.equal(scene.provider.instances.size, 5);
  await scene.stop();
});

test('a process that does not launch refuses to provision', async () => {
  const scene = new Scene();
  const pool = scene.pool({ launches: false });
  pool.start();
  assert.match(await refusal(pool.provision(demandOf()), 'CONFLICT'), /HEDDLE_POOL_PROVIDER/);
  const { id } = await pool.hold(demandOf(), HOLD);
  await scene.pass(30 * SECOND);
  assert.deepEqual(scene.provider.calls, []);
  scene.pool().start();
  await scene.pass(10 * SECOND);
  assert.equal((await pool.request(id)).state, 'granted');
  await scene.stop();
});

test('runners are drained, terminated and released by hand', async () => {
  const scene = new Scene();
  const pool = scene.pool();
  pool.start();
  const { id } = await pool.hold(demandOf(), HOLD);
  await scene.pass(10 * SECOND);
  await pool.provision(demandOf({ count: 2 }));
  await scene.pass(10 * SECOND);
  const busy = (await pool.request(id)).runners[0]!.id;
  const [idle, other] = (await scene.runners('idle')).map((runner) => runner.id);
  assert.equal(await pool.drain([busy, idle!]), 2);
  await scene.pass(SECOND);
  assert.deepEqual(
    (await scene.runners())
      .filter((runner) => runner.state !== 'terminated')
      .map((runner) => runner.id)
      .sort(),
    [busy, other!].sort(),
  );
  assert.equal(await pool.release([busy]), 1);
  assert.equal((await pool.request(id)).state, 'ended');
  await scene.pass(10 * SECOND);
  assert.equal(await pool.terminate([other!]), 1);
  await scene.pass(10 * SECOND);
  assert.deepEqual(scene.provider.running, []);
  await scene.stop();
});

test('a hold of several runners is released only as a whole', async () => {
  const scene = new Scene();
  const pool = scene.pool();
  pool.start();
  const { id } = await pool.hold(demandOf({ count: 2 }), HOLD);
  await scene.pass(10 * SECOND);
  const ids = (await pool.request(id)).runners.map((runner) => runner.id);
  assert.match(
    await refusal(pool.release([ids[0]!]), 'CONFLICT'),
    new RegExp(`2 runners.*heddle pool release-hold ${id}`),
  );
  assert.equal((await pool.request(id)).state, 'granted');
  assert.equal(await pool.release(ids), 2);
  assert.equal((await pool.request(id)).state, 'ended');
  await scene.stop();
});

test('hold returns while a backend is still searching its queue', async () => {
  const scene = new Scene();
  const looks = Promise.withResolvers<Served[]>();
  const backend = { ...scene.context().backend, driver: 'sqs-classic', serve: () => looks.promise } as const;
  const pool = scene.pool({}, { backend: { ...backend, counts: newCounts(), offer: () => Promise.resolve() } });
  const asking = pool.hold(demandOf(), HOLD);
  await scene.pass(SECOND);
  assert.equal((await asking).state, 'waiting');
  looks.resolve([]);
  await scene.stop();
});

test('a refresh completes all possible steps and reports failures', async () => {
  const scene = new Scene();
  const pool = scene.pool();
  scene.provider.stray();
  const refreshed = await pool.refresh();
  assert.deepEqual(refreshed.changes, ['the template was updated']);
  assert.deepEqual(refreshed.failures, []);
  scene.provider.broken = 'list';
  const failed = await pool.refresh();
  assert.deepEqual([failed.orphans, failed.vanished], [0, 0]);
  assert.match(failed.failures.join('\n'), /^could not list the instances of the provider: .*cannot list/);
  scene.provider.broken = null;
  await scene.pass(MINUTE);
  assert.equal((await pool.refresh()).orphans, 1);
  assert.deepEqual(scene.provider.running, []);
});

test('classes include their current minimum of idle runners', async () => {
  const entry = { resource_class: 'large', usage_class: 'spot' as const, schedule: null, time_zone: 'UTC' };
  const scene = new Scene({
    policy: {
      min_idle: [
        { ...entry, count: 1 },
        { ...entry, count: 3 },
      ],
    },
  });
  assert.deepEqual(
    scene
      .pool()
      .classes()
      .map(({ name, cpu, min_idle }) => ({ name, cpu, min_idle })),
    [
      { name: 'large', cpu: 2, min_idle: [{ usage_class: 'spot', count: 3 }] },
      { name: 'xlarge', cpu: 4, min_idle: [] },
    ],
  );
  await scene.stop();
});

test('a failing part reports its remedy and does not affect other parts', async () => {
  const lines: { fields: { loop?: string; err?: Error }; message: string }[] = [];
  const log: Logger = { ...silentLogger, error: (fields, message) => void lines.push({ fields, message }) };
  const scene = new Scene({ log });
  const pool = scene.pool();
  scene.provider.broken = 'list';
  pool.start();
  const { id } = await pool.hold(demandOf(), HOLD);
  await scene.pass(10 * SECOND);
  assert.equal((await pool.request(id)).state, 'granted');
  assert.ok(lines.length > 0);
  for (const { fields } of lines) {
    assert.match(
      fields.err?.message ?? '',
      /^the pool could not reconcile with the provider: .*cannot list now; check that the provider/,
    );
  }
  const failing = pool.status().parts.filter(({ error }) => error !== null);
  assert.deepEqual(
    failing.map(({ name }) => name),
    ['reconcile with the provider'],
  );
  scene.provider.broken = null;
  await scene.pass(MINUTE);
  assert.deepEqual(
    pool.status().parts.filter(({ error }) => error !== null),
    [],
  );
  await scene.stop();
});
