import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { PoolBackend } from '../../src/pool/port/backend.ts';
import type { PoolHistory, PoolSample } from '../../src/pool/port/history.ts';
import { demandOf, MINUTE, Scene, SECOND } from '../support/pool/scene.ts';

interface FakeBackend extends PoolBackend {
  readonly offered: string[];
  broken: boolean;
}

function fakeBackend(): FakeBackend {
  const offered: string[] = [];
  return {
    driver: 'sqs-classic',
    counts: { operations: 0, picked: 0, requeued: 0, discarded: 0 },
    offered,
    broken: false,
    serve: () => Promise.resolve([]),
    offer(runners) {
      if (this.broken) return Promise.reject(new Error('no queue'));
      offered.push(...runners.map(({ id }) => id));
      return Promise.resolve();
    },
  };
}

test('an idle runner is offered once, and again if it was not claimed for two minutes', async () => {
  const scene = new Scene();
  const backend = fakeBackend();
  const pool = scene.pool({}, { backend });
  await pool.provision(demandOf());
  pool.start();
  await scene.pass(MINUTE);
  const [runner] = await scene.runners('idle');
  assert.deepEqual(backend.offered, [runner!.id]);
  await scene.pass(90 * SECOND);
  assert.deepEqual(backend.offered, [runner!.id, runner!.id]);
  await scene.stop();
});

test('failed offers are repeated when the queue is back', async () => {
  const scene = new Scene();
  const backend = fakeBackend();
  backend.broken = true;
  const pool = scene.pool({}, { backend });
  await pool.provision(demandOf({ count: 3 }));
  pool.start();
  await scene.pass(20 * SECOND);
  assert.deepEqual(backend.offered, []);
  assert.match(pool.status().parts.find(({ name }) => name === 'offer idle runners')?.error ?? '', /no queue/);
  backend.broken = false;
  await scene.pass(40 * SECOND);
  assert.equal(new Set(backend.offered).size, 3);
  assert.equal(backend.offered.length, 3);
  await scene.stop();
});

test('a refresh offers every idle runner again', async () => {
  const scene = new Scene();
  const backend = fakeBackend();
  const pool = scene.pool({}, { backend });
  await pool.provision(demandOf({ count: 2 }));
  pool.start();
  await scene.pass(10 * SECOND);
  assert.equal(backend.offered.length, 2);
  assert.equal((await pool.refresh()).offered, 2);
  assert.equal(backend.offered.length, 4);
  await scene.stop();
});

test('the pool records a sample per minute and returns the requested period', async () => {
  const taken: number[] = [];
  const asked: { from: number; limit: number }[] = [];
  const sample: PoolSample = {
    ...{ at: 1, resource_class: 'large', usage_class: 'spot' },
    ...{ created: 0, idle: 1, claimed: 0, running: 0, waiting: 0 },
  };
  const scene = new Scene();
  const history: PoolHistory = {
    sample() {
      taken.push(scene.clock.now());
      return Promise.resolve();
    },
    samples(from, limit) {
      asked.push({ from, limit });
      return Promise.resolve([sample]);
    },
  };
  const pool = scene.pool({}, { history });
  pool.start();
  await scene.pass(3 * MINUTE);
  assert.ok(taken.length >= 3 && taken.length <= 4, `${taken.length}`);
  assert.deepEqual(await pool.history(MINUTE), [sample]);
  assert.equal(asked[0]?.from, scene.clock.now() - MINUTE);
  assert.deepEqual(await scene.pool().history(MINUTE), []);
  await scene.stop();
});
