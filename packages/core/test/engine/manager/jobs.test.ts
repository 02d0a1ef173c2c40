import assert from 'node:assert/strict';
import { it } from 'node:test';

import type { NewJob } from '../../../src/domain/schedule.ts';
import { createJobs } from '../../../src/engine/schedule/jobs.ts';
import {
  collection,
  completion,
  feed,
  MANAGER_QUEUE,
  newBench,
  newId,
  run,
  started,
  workerSeen,
  type Bench,
} from '@heddle/test-support/engine/manager/fixture';

async function receive({ queue, manager }: Bench): Promise<ReturnType<typeof manager.run>> {
  const messages = await queue.receive(MANAGER_QUEUE, { max: 10, wait_ms: 0, visibility_ms: 60_000 });
  return manager.run(messages, Date.now());
}

const JOB: NewJob = {
  name: 'nightly',
  cron: '0 3 * * *',
  time_zone: 'UTC',
  recurrence: null,
  overlap: 'skip',
  catch_up: 'skip',
  paused: false,
  workflow: { root: { mode: 'sequential', children: [{ kind: 'nightly' }] } },
};

interface Root {
  children: { id?: string; kind: string }[];
}

const MAKE_DUE = { name: 'test.make_due', text: `update recon.jobs set next_run_at = now() - interval '1 second'` };

it('a due job goes its way: step 9 sends it, step 3 stores it, step 8 writes its end into the history', async () => {
  const bench = await newBench();
  const jobs = createJobs(bench.jobs);
  await jobs.create({ ...JOB, catch_up: 'once' });
  await bench.database.query(MAKE_DUE);
  await run(bench.manager, workerSeen('nightly'));
  assert.equal((await bench.manager.run([], Date.now())).jobs_started, 0, 'each occurrence starts once');
  await receive(bench);
  const [start] = await started(bench.queue, 'nightly');
  const page = { offset: 0, limit: 10 };
  assert.equal((await jobs.history('nightly', page))![0]!.state, 'Running');
  const ended = await run(bench.manager, completion(start!, { state: 'Failed', reason: 'no disk' }));
  assert.equal(ended.finalized, 1);
  const [entry] = (await jobs.history('nightly', page))!;
  assert.equal(entry!.state, 'Failed');
  assert.deepEqual(entry!.counts, { failed: 1 });
  assert.equal(entry!.workflow_id, start!.root_container_id);
  assert.equal((await bench.manager.run([], Date.now())).finalized, 0);
});

for (const [fault, spoil] of [
  ['holds the id of a task that is there', (root: Root, taken: string) => (root.children[0]!.id = taken)],
  ['cannot be read', (root: Root) => (root.children[0]!.kind = '')],
] as const) {
  it(`a job whose message ${fault} learns so, and does not wait for its workflow forever`, async () => {
    const bench = await newBench();
    const jobs = createJobs(bench.jobs);
    const taken = newId();
    await feed(bench.manager, collection({ mode: 'parallel', children: [{ id: taken, kind: 'other' }] }));
    await jobs.create(JOB);
    await jobs.trigger('nightly');
    const [sent] = await bench.queue.receive(MANAGER_QUEUE, { max: 1, wait_ms: 0, visibility_ms: 60_000 });
    const body = JSON.parse(sent!.body) as { collection: { root: Root } };
    spoil(body.collection.root, taken);
    const { deadLettered } = await run(bench.manager, JSON.stringify(body));
    assert.equal(deadLettered.length, 1);
    const [entry] = (await jobs.history('nightly', { offset: 0, limit: 1 }))!;
    assert.equal(entry!.state, 'Failed');
    assert.equal(entry!.reason, `it was refused: ${deadLettered[0]!.reason}`);
  });
}
