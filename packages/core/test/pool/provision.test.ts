import assert from 'node:assert/strict';
import { test } from 'node:test';

import { PostgresBackend } from '../../src/pool/backends/postgres.ts';
import type { PoolBackend } from '../../src/pool/port/backend.ts';
import type { HoldOptions } from '../../src/pool/pool-port.ts';
import { newId } from '@heddle/base/random';
import { demandOf, MINUTE, Scene, SECOND } from '../support/pool/scene.ts';

const HOLD: HoldOptions = { id: null, holder: 'a client', tenant: null, wait_ms: null };

test('missing runners are launched in batches with the class and memory of the request', async () => {
  const scene = new Scene({ policy: { batch_max: 3 } });
  const pool = scene.pool();
  pool.start();
  await pool.hold(demandOf({ count: 7, memory_mib: 6_000 }), HOLD);
  await pool.hold(demandOf({ resource_class: 'xlarge' }), HOLD);
  await scene.pass(10 * SECOND);
  const memory = (await scene.runners('running')).map(({ resource_class, memory_mib }) => [resource_class, memory_mib]);
  assert.deepEqual(
    memory.toSorted((one, other) => Number(one[1]) - Number(other[1])),
    [...Array.from({ length: 7 }, () => ['large', 6_000]), ['xlarge', 8_192]],
  );
  assert.equal(scene.launches().length, 4);
  await scene.stop();
});

test('no runners beyond the limit are planned, and the status shows why', async () => {
  const scene = new Scene({ policy: { max_runners: 3 } });
  const pool = scene.pool();
  pool.start();
  const ids = [];
  for (let count = 0; count < 5; count += 1) ids.push((await pool.hold(demandOf(), HOLD)).id);
  await scene.pass(10 * SECOND);
  assert.equal(scene.provider.instances.size, 3);
  assert.match(pool.status().obstacles[0]?.reason ?? '', /limit of 3 runners: .*HEDDLE_POOL_MAX_RUNNERS/);
  await pool.releaseHold(ids[0]!);
  await scene.pass(5 * SECOND);
  const states = await Promise.all(ids.map(async (id) => (await pool.request(id)).state));
  assert.deepEqual(states.toSorted(), ['ended', 'granted', 'granted', 'granted', 'waiting']);
  assert.equal(scene.provider.instances.size, 3);
  await scene.stop();
});

test('a gang that does not fit reserves capacity for a limited time', async () => {
  const scene = new Scene({ policy: { max_runners: 4 } });
  const pool = scene.pool();
  pool.start();
  const busy = await pool.hold(demandOf(), HOLD);
  await pool.hold(demandOf({ resource_class: 'xlarge' }), HOLD);
  await scene.pass(5 * SECOND);
  const gang = await pool.hold(demandOf({ count: 3 }), HOLD);
  await scene.pass(15 * SECOND);
  assert.match(pool.status().obstacles[0]?.reason ?? '', /asks for 3 of large: end some, or raise/);
  const late = await pool.hold(demandOf({ resource_class: 'xlarge' }), HOLD);
  await scene.pass(15 * SECOND);
  assert.equal((await pool.request(late.id)).state, 'waiting');
  await scene.pass(11 * MINUTE);
  assert.equal((await pool.request(late.id)).state, 'granted');
  assert.equal((await pool.request(gang.id)).state, 'waiting');
  await pool.releaseHold(busy.id);
  await pool.releaseHold(late.id);
  // Released runners time out and free capacity; fitting ones stay and count.
  await scene.pass(7 * MINUTE);
  assert.equal((await pool.request(gang.id)).state, 'granted');
  await scene.stop();
});

test('fitting idle runners count for a gang: only the missing ones are launched', async () => {
  const scene = new Scene();
  const pool = scene.pool();
  pool.start();
  await pool.provision(demandOf({ count: 3 }));
  await scene.pass(10 * SECOND);
  const { id } = await pool.hold(demandOf({ count: 5 }), HOLD);
  await scene.pass(10 * SECOND);
  assert.equal((await pool.request(id)).state, 'granted');
  assert.equal(scene.provider.instances.size, 5);
  await scene.stop();
});

/** A backend that returns a preset answer for every request. */
function answering(exhaustion: () => 'uncertain' | 'global'): PoolBackend {
  return {
    driver: 'sqs-classic',
    counts: { operations: 0, picked: 0, requeued: 0, discarded: 0 },
    serve: (requests) =>
      Promise.resolve(requests.map(({ id }) => ({ request_id: id, grant: null, exhaustion: exhaustion() }))),
    offer: () => Promise.resolve(),
  };
}

test('nothing is launched while the search for an idle runner is inconclusive, until a timeout', async () => {
  const scene = new Scene();
  const pool = scene.pool({}, { backend: answering(() => 'uncertain') });
  pool.start();
  const { id } = await pool.hold(demandOf(), HOLD);
  await scene.pass(9 * SECOND);
  assert.deepEqual(scene.launches(), []);
  assert.equal((await pool.request(id)).exhaustion, 'uncertain');
  await scene.pass(10 * SECOND);
  assert.equal((await pool.request(id)).state, 'granted');
  await scene.stop();
});

test('a runner is launched as soon as no idle runner is known to fit', async () => {
  const scene = new Scene();
  let exhaustion: 'uncertain' | 'global' = 'uncertain';
  const pool = scene.pool({}, { backend: answering(() => exhaustion) });
  pool.start();
  await pool.hold(demandOf(), HOLD);
  await scene.pass(2 * SECOND);
  exhaustion = 'global';
  await scene.pass(2 * SECOND);
  assert.equal(scene.launches().length, 1);
  assert.equal(scene.count('exhausted global'), 1);
  await scene.stop();
});

test('runners are launched even if the backend keeps failing', async () => {
  const scene = new Scene();
  const backend = { ...answering(() => 'global'), serve: () => Promise.reject(new Error('no queue')) };
  const pool = scene.pool({}, { backend });
  pool.start();
  const { id } = await pool.hold(demandOf(), HOLD);
  await scene.pass(20 * SECOND);
  assert.equal((await pool.request(id)).state, 'granted');
  assert.match(pool.status().parts[0]?.error ?? '', /no queue|^$/);
  await scene.stop();
});

test('requests behind many unservable ones are served', async () => {
  const scene = new Scene({ bootMs: null, policy: { max_runners: 1 } });
  const pool = scene.pool();
  await scene.store.ask(
    Array.from({ length: 700 }, (_, at) => ({
      ...demandOf({ allowed_instance_types: ['b.*'] }),
      id: `018bcfe5-6800-7000-8000-${(at + 1).toString(16).padStart(12, '0')}`,
      ...{ tenant: 'one', source: 'holder' as const, run: 'one', attempt: null, expires_at: null },
    })),
  );
  const batch = '018bcfe5-6800-7000-8000-00000000aaaa';
  const id = '018bcfe5-6800-7000-8000-00000000aaab';
  const { count, ...requirements } = demandOf();
  await scene.store.plan([
    { id: batch, provider: 'other', requirements, cpu: 2, memory_mib: 4_096, runner_ids: [id].slice(0, count) },
  ]);
  const type = { instance_type: 'a.large', cpu: 2, memory_mib: 4_096 };
  await scene.store.launched(batch, [{ runner_id: id, provider_id: 'i-1', ...type }], null);
  await scene.store.register({ runner_id: id, batch_id: null, provider_id: 'i-1', address: null });
  await scene.store.ask([
    {
      ...demandOf(),
      id: '018bcfe5-6800-7000-8000-00000000ffff',
      ...{ tenant: 'one', source: 'holder', run: 'one', attempt: null, expires_at: null },
    },
  ]);
  await pool.parts.server.runOnce();
  assert.equal((await pool.request('018bcfe5-6800-7000-8000-00000000ffff')).state, 'granted');
  assert.equal(scene.count('exhausted local') + scene.count('exhausted global'), 700);
  await scene.stop();
});

test('exhausted requests are not searched in every pass', async () => {
  const scene = new Scene({ policy: { max_runners: 1 } });
  const looks: number[] = [];
  const real = new PostgresBackend(scene.store);
  const backend: PoolBackend = {
    driver: 'postgres',
    counts: real.counts,
    serve: (requests) => {
      looks.push(requests.length);
      return real.serve(requests);
    },
    offer: () => Promise.resolve(),
  };
  const pool = scene.pool({ launches: false }, { backend });
  await pool.hold(demandOf(), HOLD);
  await pool.parts.server.runOnce();
  await pool.parts.server.runOnce();
  await pool.parts.server.runOnce();
  assert.deepEqual(looks, [1]);
  await scene.clock.advance(2 * SECOND);
  await pool.parts.server.runOnce();
  assert.deepEqual(looks, [1, 1]);
  await pool.hold(demandOf(), HOLD);
  await pool.parts.server.runOnce();
  assert.deepEqual(looks, [1, 1, 1]);
  await scene.stop();
});

test('runners ended before their registration are not failed launches: the next one is launched at once', async () => {
  const scene = new Scene({ bootMs: null });
  const pool = scene.pool();
  pool.start();
  await pool.hold(demandOf(), HOLD);
  await scene.pass(5 * SECOND);
  for (let times = 1; times <= 3; times += 1) {
    const [created] = await pool.runners({ state: 'created' }, { offset: 0, limit: 1 });
    assert.equal(scene.launches().length, times);
    if (times === 2) await pool.drain([created!.id]);
    else await pool.terminate([created!.id]);
    await scene.pass(5 * SECOND);
    assert.deepEqual(pool.status().obstacles, []);
  }
  await scene.stop();
});

test('runners are planned for requests behind more than ten thousand unservable ones', async () => {
  const scene = new Scene();
  const pool = scene.pool();
  const fields = { tenant: 'one', source: 'holder', run: 'one', attempt: null, expires_at: null } as const;
  const asked = Array.from({ length: 10_500 }, () => {
    return { ...demandOf({ resource_class: 'removed' }), id: newId(), ...fields };
  });
  for (let at = 0; at < asked.length; at += 500) await scene.store.ask(asked.slice(at, at + 500));
  const last = { ...demandOf(), id: newId(), ...fields };
  await scene.store.ask([last]);
  await scene.store.noteExhausted([...asked, last].map(({ id }) => ({ request_id: id, exhaustion: 'global' })));
  assert.equal((await pool.parts.provisioner.runOnce()).planned, 1);
  await scene.stop();
});

test('a request for a class unknown to the pool is not launched, and the status shows why', async () => {
  const scene = new Scene();
  const pool = scene.pool();
  pool.start();
  await scene.store.ask([
    {
      ...demandOf({ resource_class: 'removed' }),
      id: '018bcfe5-6800-7000-8000-00000000ffff',
      ...{ tenant: 'one', source: 'holder', run: 'one', attempt: null, expires_at: null },
    },
  ]);
  await pool.hold(demandOf(), HOLD);
  await scene.pass(5 * SECOND);
  assert.equal(scene.provider.instances.size, 1);
  assert.match(pool.status().obstacles[0]?.reason ?? '', /the pool has no class removed: add it/);
  await scene.stop();
});
