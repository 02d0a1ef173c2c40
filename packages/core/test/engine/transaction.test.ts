import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { createMetrics } from '../../src/metrics/metrics.ts';
import { newId } from '@heddle/base/random';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { claimKind, newBench, newTask } from '@heddle/test-support/engine/fixture';

const submission = (kind: string) => ({
  workflow_id: newId(),
  name: null,
  tasks: [newTask({ kind })],
  traceparent: null,
  idempotency: null,
});

describe('verbs within a transaction', () => {
  it('commit together, and tell loops and metrics afterwards', async () => {
    const metrics = createMetrics({ processMetrics: false });
    const { engine } = await newBench({ metrics });
    const woken: string[] = [];
    const listening = new Promise<void>((resolve) => {
      engine.onReady(['kind:work'], () => {
        woken.push('ready');
        resolve();
      });
    });
    await listening;
    woken.length = 0;
    const created = async (): Promise<number> => (await metrics.tasksCreated.get()).values[0]!.value;
    await engine.transaction(async (inner) => {
      await inner.submit([submission('work')]);
      await inner.submit([submission('work')]);
      assert.deepEqual([woken, await created()], [[], 0]);
      assert.deepEqual(await claimKind(engine), [], 'it is not visible yet');
    });
    assert.ok(woken.length > 0);
    assert.equal(await created(), 2);
    assert.equal((await claimKind(engine)).length, 2);
    await engine.close();
  });

  it('leave nothing behind when it is rolled back, kinds neither', async () => {
    const { engine } = await newBench();
    const failing = engine.transaction(async (inner) => {
      await inner.submit([submission('rolled back')]);
      throw new Error('no');
    });
    await assert.rejects(failing, /^Error: no$/);
    assert.deepEqual((await engine.listWorkflows({ offset: 0, limit: 9 })).workflows, []);
    // A kind that was remembered, but is not stored, would fail this.
    await engine.submit([submission('rolled back')]);
    const [task] = await claimKind(engine, 'rolled back');
    assert.equal(task?.kind, 'rolled back');
    await engine.close();
  });

  it('need no connection besides that of the transaction', async () => {
    const { database } = await createTestDatabase({ maxSize: 1, acquireTimeoutMs: 2_000, acquireRetries: 0 });
    const { engine } = await newBench({ database });
    await engine.transaction((inner) => inner.submit([submission('new here')]));
    assert.equal((await claimKind(engine, 'new here')).length, 1);
    await engine.close();
  });
});
