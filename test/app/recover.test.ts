/** `heddle recover`: requeues what a restored backup holds open. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { claimKind, newBench, newTask, submitTasks, succeed } from '../engine/fixture.ts';
import { heddle } from './heddle-process.ts';

const LATER = '2100-01-01T00:00:00Z';

test('attempts from before the time are counted, then requeued, and their old reports are rejected', async () => {
  const { engine, url } = await newBench();
  const { tasks } = await submitTasks(engine, [newTask(), newTask({ kind: 'other' })]);
  await claimKind(engine);
  const recover = async (...args: string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await heddle(['recover', '--json', ...args], { DATABASE_URL: url });
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  const state = async (): Promise<string> => (await engine.getTask(tasks[0]!.id))!.state;

  assert.deepEqual(await recover('--before', '2000-01-01'), { attempts: 0, requeued: true });
  assert.deepEqual(await recover('--before', LATER, '--check'), { attempts: 1, requeued: false });
  assert.equal(await state(), 'running');
  assert.deepEqual(await recover('--before', LATER), { attempts: 1, requeued: true });
  assert.equal(await state(), 'pending');
  assert.equal((await claimKind(engine))[0]?.attempt, 2);
  await succeed(engine, [{ id: tasks[0]!.id, attempt: 1 }]);
  assert.equal(await state(), 'running');
  await engine.close();
});

test('a missing time, or one that is not a date, is rejected before anything is changed', async () => {
  const settings = { DATABASE_URL: 'postgres://127.0.0.1:1/none' };
  const missing = await heddle(['recover'], settings);
  assert.deepEqual([missing.code, /--before <time>/.test(missing.stderr)], [2, true]);
  const unclear = await heddle(['recover', '--before', '7'], settings);
  assert.equal(unclear.code, 2);
  assert.match(unclear.stderr, /--before: must be a date or a time such as 2030-01-31T12:00:00Z, not "7"/);
});
