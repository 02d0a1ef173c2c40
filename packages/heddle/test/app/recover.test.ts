/** `heddle recover` as a real process, on a database with open attempts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { claimKind, newBench, newTask, submitTasks } from '@heddle/test-support/engine/fixture';
import { heddle } from '@heddle/test-support/app/heddle-process';

const PAST = '2000-01-01T00:00:00Z';
const FUTURE = '9999-01-01T00:00:00Z';

test('heddle recover counts the attempts opened before a time, and requeues them', async () => {
  const { engine, database, url } = await newBench();
  const { tasks } = await submitTasks(engine, [newTask(), newTask(), newTask({ kind: 'waiting' })]);
  assert.equal((await claimKind(engine)).length, 2);
  const recover = async (...args: string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await heddle(['recover', '--json', ...args], { DATABASE_URL: url });
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  const states = (): Promise<unknown[]> => Promise.all(tasks.map(async ({ id }) => (await engine.getTask(id))!.state));

  assert.deepEqual(await recover('--before', PAST), { attempts: 0, requeued: true });
  assert.deepEqual(await recover('--before', FUTURE, '--check'), { attempts: 2, requeued: false });
  assert.deepEqual(await states(), ['running', 'running', 'pending']);
  assert.deepEqual(await recover('--before', FUTURE), { attempts: 2, requeued: true });
  assert.deepEqual(await states(), ['pending', 'pending', 'pending']);
  assert.deepEqual(await recover('--before', FUTURE), { attempts: 0, requeued: true });

  const { code, stderr } = await heddle(['recover', '--before', 'yesterday'], { DATABASE_URL: url });
  assert.equal(code, 2);
  assert.match(stderr, /--before: must be a date or a time such as .*, not "yesterday"/);
  await engine.close();
  await database.close();
});
