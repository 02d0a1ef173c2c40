import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { PoolMetrics } from '../../src/pool/context.ts';
import { createMetrics } from '../../src/metrics/metrics.ts';

const LARGE = { resource_class: 'large', usage_class: 'spot', created: 1, idle: 2, claimed: 3, running: 4, waiting: 5 };

async function samples(metrics: ReturnType<typeof createMetrics>, name: string): Promise<string[]> {
  const text = await metrics.registry.metrics();
  return text.split('\n').filter((line) => line.startsWith(name));
}

test("the pool's reports are counted by their labels", async () => {
  const metrics = createMetrics({ processMetrics: false });
  const pool: PoolMetrics = metrics.pool;
  pool.pickup('large', 'idle', 0.004);
  pool.pickup('large', 'launch', 40);
  pool.pickup('large', 'idle', -1);
  pool.launches('process', 'launched', 3);
  pool.launches('process', 'capacity', 1);
  pool.requeued('sqs-classic', 7);
  pool.discarded('sqs-classic', 2);
  pool.exhausted('local', 4);
  pool.ended('idle too long', 6);
  pool.reaped('orphan', 1);
  const lines = async (name: string): Promise<string[]> => samples(metrics, `heddle_pool_${name}`);
  assert.deepEqual(await lines('pickup_seconds_count'), [
    'heddle_pool_pickup_seconds_count{resource_class="large",source="idle"} 2',
    'heddle_pool_pickup_seconds_count{resource_class="large",source="launch"} 1',
  ]);
  assert.deepEqual(await lines('pickup_seconds_sum'), [
    'heddle_pool_pickup_seconds_sum{resource_class="large",source="idle"} 0.004',
    'heddle_pool_pickup_seconds_sum{resource_class="large",source="launch"} 40',
  ]);
  assert.deepEqual(await lines('hits_total'), [
    'heddle_pool_hits_total{source="idle"} 2',
    'heddle_pool_hits_total{source="launch"} 1',
  ]);
  assert.deepEqual(await lines('launches_total'), [
    'heddle_pool_launches_total{provider="process",outcome="launched"} 3',
    'heddle_pool_launches_total{provider="process",outcome="capacity"} 1',
  ]);
  assert.deepEqual(await lines('requeued_total'), ['heddle_pool_requeued_total{driver="sqs-classic"} 7']);
  assert.deepEqual(await lines('discarded_total'), ['heddle_pool_discarded_total{driver="sqs-classic"} 2']);
  assert.ok((await lines('exhausted_total')).includes('heddle_pool_exhausted_total{type="local"} 4'));
  assert.deepEqual(await lines('ended_total'), ['heddle_pool_ended_total{reason="idle too long"} 6']);
  assert.ok((await lines('reconciled_total')).includes('heddle_pool_reconciled_total{what="orphan"} 1'));
});

test('runners by class and state are as the latest census says; classes that are gone do not linger', async () => {
  const metrics = createMetrics({ processMetrics: false });
  metrics.setRunners([LARGE, { ...LARGE, resource_class: '2xl' }]);
  metrics.setRunners([LARGE]);
  assert.deepEqual(await samples(metrics, 'heddle_pool_runners{'), [
    'heddle_pool_runners{resource_class="large",usage_class="spot",state="created"} 1',
    'heddle_pool_runners{resource_class="large",usage_class="spot",state="idle"} 2',
    'heddle_pool_runners{resource_class="large",usage_class="spot",state="claimed"} 3',
    'heddle_pool_runners{resource_class="large",usage_class="spot",state="running"} 4',
  ]);
  assert.deepEqual(await samples(metrics, 'heddle_pool_waiting{'), [
    'heddle_pool_waiting{resource_class="large",usage_class="spot"} 5',
  ]);
});

test('reasons beyond the cap count as other', async () => {
  const metrics = createMetrics({ processMetrics: false });
  for (let index = 0; index < 150; index++) metrics.pool.ended(`reason ${index}`, 1);
  const lines = await samples(metrics, 'heddle_pool_ended_total{');
  assert.equal(lines.length, 101);
  assert.ok(lines.includes('heddle_pool_ended_total{reason="other"} 50'));
});
