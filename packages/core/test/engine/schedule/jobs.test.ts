import assert from 'node:assert/strict';
import { test } from 'node:test';

import { rejectJobRuns } from '../../../src/engine/schedule/finish-job-runs.ts';
import { nextJobAt } from '../../../src/engine/schedule/start-due-jobs.ts';
import { PostgresQueue } from '../../../src/queue/postgres.ts';
import { silentLogger } from '@heddle/base/log';
import { MINUTE_MS, newJob, newJobBench, statesOf, told } from '@heddle/test-support/engine/schedule/fixture';

test('overlap skip: an occurrence is dropped while a run has not ended, with an entry that says so', async () => {
  const { jobs, at, start, finish, history } = await newJobBench();
  await jobs.create(newJob({ overlap: 'skip' }));
  await at('2026-06-01T01:00:00Z');
  await start();
  await at('2026-06-01T02:00:00Z');
  assert.deepEqual(await start(), { started: 0, queued: 0, skipped: 1, paused: 0, more: false });
  await finish(statesOf(await history('nightly'), 'Running'), {
    root_state: 'partially_failed',
    counts: { succeeded: 7, failed: 2 },
  });
  await at('2026-06-01T03:00:00Z');
  await start();
  const runs = await history('nightly');
  assert.deepEqual(told(runs), ['01:00 PartiallyFailed', '02:00 Skipped', '03:00 Running']);
  assert.deepEqual(runs[0]!.counts, { succeeded: 7, failed: 2 });
  assert.equal(runs[0]!.completed_at, Date.parse('2026-06-01T02:00:00Z'));
  assert.equal(runs[1]!.workflow_id, null);
});

test('overlap queue: one run waits for the one under way and starts when that ended; a second one is dropped', async () => {
  const { jobs, at, start, finish, sent, history } = await newJobBench();
  await jobs.create(newJob({ overlap: 'queue' }));
  for (const hour of ['01', '02', '03']) {
    await at(`2026-06-01T${hour}:00:00Z`);
    await start();
  }
  assert.deepEqual(told(await history('nightly')), ['01:00 Running', '02:00 Queued', '03:00 Skipped']);
  assert.equal((await sent()).length, 1);

  await at('2026-06-01T03:20:00Z');
  const [first] = await history('nightly');
  await finish([first!], { root_state: 'failed' });
  const runs = await history('nightly');
  assert.deepEqual(told(runs), ['01:00 Failed', '02:00 Running', '03:00 Skipped']);
  assert.equal(runs[1]!.started_at, Date.parse('2026-06-01T03:20:00Z'));
  assert.deepEqual(
    (await sent()).map((message) => message.job_run_id),
    [first!.id, runs[1]!.id],
  );

  // The same end, told again, starts nothing more.
  await finish([first!], { root_state: 'failed' });
  assert.equal((await sent()).length, 2);
});

test('overlap allow: runs stand side by side', async () => {
  const { jobs, at, start, sent, history } = await newJobBench();
  await jobs.create(newJob({ overlap: 'allow' }));
  for (const hour of ['01', '02', '03']) {
    await at(`2026-06-01T${hour}:00:00Z`);
    await start();
  }
  assert.deepEqual(told(await history('nightly')), ['01:00 Running', '02:00 Running', '03:00 Running']);
  assert.equal((await sent()).length, 3);
});

test('ends are recorded once; a workflow that was retried ends once more, and an older end changes nothing', async () => {
  const { jobs, at, start, finish, history } = await newJobBench();
  await jobs.create(newJob());
  await at('2026-06-01T01:00:00Z');
  await start();
  const [run] = await history('nightly');
  await at('2026-06-01T01:10:00Z');
  await finish([run!], { root_state: 'timed_out', counts: { timed_out: 1 } });
  await at('2026-06-01T01:30:00Z');
  await finish([run!], { root_state: 'succeeded', counts: { succeeded: 1 } });
  await finish([run!], { root_state: 'failed', ended_at: Date.parse('2026-06-01T01:05:00Z') });
  const [ended] = await history('nightly');
  assert.deepEqual(
    [ended!.state, ended!.completed_at, ended!.counts],
    ['Succeeded', Date.parse('2026-06-01T01:30:00Z'), { succeeded: 1 }],
  );
  // Ends of runs that no one knows any more are of no consequence.
  assert.equal(await jobs.remove('nightly'), true);
  await finish([run!]);
  assert.equal(await jobs.remove('nightly'), false);
});

test('a run whose message was refused fails with the reason and keeps no other from starting', async () => {
  const { jobs, at, start, history, context, database } = await newJobBench();
  await jobs.create(newJob({ overlap: 'queue' }));
  await at('2026-06-01T01:00:00Z');
  await start();
  await at('2026-06-01T02:00:00Z');
  await start();
  const [run] = await history('nightly');
  await database.transaction((tx) => rejectJobRuns(context, tx, [{ job_run_id: run!.id, reason: 'too deep' }]));
  const runs = await history('nightly');
  assert.deepEqual(told(runs), ['01:00 Failed', '02:00 Running']);
  assert.equal(runs[0]!.reason, 'too deep');
});

test('a run whose workflow never came to be does not keep its job forever; what waited for it starts', async () => {
  const { jobs, at, start, finish, history, database, clock } = await newJobBench();
  await jobs.create(newJob({ overlap: 'queue', cron: '0 */4 * * *' }));
  for (const hour of ['04', '08']) {
    await at(`2026-06-01T${hour}:00:00Z`);
    await start();
  }
  assert.deepEqual(told(await history('nightly')), ['04:00 Running', '08:00 Queued']);
  // No manager was there to read its message so far: it will still run.
  await at('2026-06-01T12:00:00Z');
  await start();
  assert.deepEqual(told(await history('nightly')), ['04:00 Running', '08:00 Queued', '12:00 Skipped']);
  const now = (): string => new Date(clock.now()).toISOString();
  const queue = new PostgresQueue({ database, clock, log: silentLogger, now });
  const [message] = await queue.receive('manager', { max: 1, wait_ms: 0, visibility_ms: 1_000 });
  await queue.deadLetter('manager', [{ receipt: message!.receipt, reason: 'the manager broke over it' }]);
  await at('2026-06-01T16:00:00Z');
  await start();
  const runs = await history('nightly');
  assert.deepEqual(told(runs), ['04:00 Failed', '08:00 Running', '12:00 Skipped', '16:00 Queued']);
  assert.match(runs[0]!.reason!, /^its workflow never began/);

  // One that did come to be is waited for, however long it takes.
  await database.query(
    {
      name: 'test.workflow',
      text: `insert into workflow (id, linked, task_count, remaining, created_at) values ($1, false, 1, 1, now())`,
    },
    [runs[1]!.workflow_id],
  );
  await at('2026-06-01T23:00:00Z');
  await start();
  assert.deepEqual(told(await history('nightly')).slice(0, 2), ['04:00 Failed', '08:00 Running']);
  // And one that was only late says so itself.
  await finish([runs[0]!]);
  assert.equal((await history('nightly'))[0]!.state, 'Succeeded');
});

for (const [catch_up, overlap, expected] of [
  ['skip', 'skip', ['01:00 Skipped']],
  ['once', 'skip', ['01:00 Skipped', '05:00 Running']],
  ['all', 'skip', ['01:00 Running', '02:00 Queued', '03:00 Queued', '04:00 Queued', '05:00 Queued']],
  ['all', 'allow', ['01:00 Running', '02:00 Running', '03:00 Running', '04:00 Running', '05:00 Running']],
] as const) {
  test(`catch-up ${catch_up} after five hours without a server, overlap ${overlap}`, async () => {
    const { jobs, at, start, finish, history } = await newJobBench();
    await jobs.create(newJob({ catch_up, overlap }));
    await at('2026-06-01T05:30:00Z');
    await start();
    assert.deepEqual(told(await history('nightly')), expected);
    assert.equal((await jobs.get('nightly'))!.next_run_at, Date.parse('2026-06-01T06:00:00Z'));
    if (catch_up !== 'all') {
      const [missed] = await history('nightly');
      assert.match(missed!.reason!, catch_up === 'once' ? /^4 occurrences from .* covers them$/ : /^5 occurrences/);
    }
    // What waits runs one after the other.
    for (const entry of expected.filter((each) => each.endsWith('Queued') || each.endsWith('Running'))) {
      const running = statesOf(await history('nightly'), 'Running');
      assert.ok(running.some((run) => told([run])[0]!.startsWith(entry.slice(0, 5))));
      if (overlap !== 'allow') await finish(running);
    }
  });
}

test('an occurrence found a moment late was not missed, whatever the catch-up policy', async () => {
  const { jobs, at, start, history } = await newJobBench();
  await jobs.create(newJob({ catch_up: 'skip' }));
  await at('2026-06-01T01:00:59Z');
  await start();
  assert.deepEqual(told(await history('nightly')), ['01:00 Running']);
});

test('catch-up all is bounded: the latest hundred are caught up, the rest is one entry; the recurrence counts', async () => {
  const { jobs, at, start, history } = await newJobBench();
  await jobs.create(newJob({ catch_up: 'all', cron: '* * * * *' }));
  await jobs.create(newJob({ name: 'thrice', catch_up: 'all', cron: '* * * * *', recurrence: 3 }));
  await at('2026-06-03T00:00:00Z');
  assert.deepEqual(await start(), { started: 2, queued: 101, skipped: 2, paused: 0, more: false });
  const runs = await history('nightly');
  assert.match(
    runs[0]!.reason!,
    /^very many occurrences from 2026-06-01T00:01:00.000Z on .* the latest 100 are caught up$/,
  );
  assert.equal(runs[1]!.scheduled_for, Date.parse('2026-06-03T00:00:00Z') - 99 * MINUTE_MS);
  assert.equal((await jobs.get('thrice'))!.recurrence, 0);
});

test('a paused job starts nothing; resumed, it goes on from now on, and what passed meanwhile was not missed', async () => {
  const { jobs, at, start, history, context } = await newJobBench();
  await jobs.create(newJob({ catch_up: 'all' }));
  const paused = await jobs.pause('nightly');
  assert.deepEqual([paused!.paused, paused!.next_run_at], [true, null]);
  assert.equal(await nextJobAt(context), null);
  await at('2026-06-01T05:30:00Z');
  assert.equal((await start()).started, 0);
  const resumed = await jobs.resume('nightly');
  assert.equal(resumed!.next_run_at, Date.parse('2026-06-01T06:00:00Z'));
  assert.equal(await nextJobAt(context), Date.parse('2026-06-01T06:00:00Z'));
  await start();
  assert.deepEqual(await history('nightly'), []);
  // Resuming what is not paused moves nothing.
  await at('2026-06-01T06:00:30Z');
  assert.equal((await jobs.resume('nightly'))!.next_run_at, Date.parse('2026-06-01T06:00:00Z'));
  await start();
  assert.deepEqual(told(await history('nightly')), ['06:00 Running']);
});

test('what waits while its job is paused starts when it is resumed', async () => {
  const { jobs, at, start, finish, history } = await newJobBench();
  await jobs.create(newJob({ overlap: 'queue' }));
  await at('2026-06-01T01:00:00Z');
  await start();
  await at('2026-06-01T02:00:00Z');
  await start();
  await jobs.pause('nightly');
  await finish(statesOf(await history('nightly'), 'Running'));
  assert.deepEqual(told(await history('nightly')), ['01:00 Succeeded', '02:00 Queued']);
  await jobs.resume('nightly');
  assert.deepEqual(told(await history('nightly')), ['01:00 Succeeded', '02:00 Running']);
});

test('triggered by hand: at once, also while paused, without using up the recurrence, under the overlap policy', async () => {
  const { jobs, sent, history, finish } = await newJobBench();
  await jobs.create(newJob({ recurrence: 1, paused: true }));
  const run = await jobs.trigger('nightly');
  assert.deepEqual([run!.state, run!.trigger, run!.workflow_id], ['Running', 'manual', run!.id]);
  assert.equal((await sent())[0]!.job_run_id, run!.id);
  await assert.rejects(jobs.trigger('nightly'), {
    code: 'CONFLICT',
    message: 'Job nightly is not started: the run before it has not ended',
  });
  await jobs.update('nightly', { overlap: 'queue' });
  assert.equal((await jobs.trigger('nightly'))!.state, 'Queued');
  await assert.rejects(jobs.trigger('nightly'), { code: 'CONFLICT', message: /a run is waiting already/ });
  // Someone asked for it by hand: that the job is paused does not hold it back.
  await finish([run!]);
  assert.deepEqual(told(await history('nightly')), ['00:00 Succeeded', '00:00 Running']);
  assert.equal((await jobs.get('nightly'))!.recurrence, 1);
  assert.equal(await jobs.trigger('unknown'), null);
});

test('ten triggers at once of a job that may not overlap start one run', async () => {
  const { jobs, sent } = await newJobBench();
  await jobs.create(newJob());
  const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => jobs.trigger('nightly')));
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
  assert.equal((await sent()).length, 1);
});

test('an occurrence that comes while the last run ends is started or waits, and is never forgotten', async () => {
  const { jobs, clock, start, finish, history } = await newJobBench();
  await jobs.create(newJob({ overlap: 'queue', cron: '* * * * *' }));
  for (let round = 0; round < 30; round += 1) {
    await clock.advance(MINUTE_MS);
    const running = statesOf(await history('nightly'), 'Running');
    await Promise.all([start(), finish(running), start()]);
    // A pass leaves out what another one holds; the next finds it.
    await start();
    const open = (await history('nightly')).filter((run) => run.completed_at === null);
    // The run that ended never leaves one behind that waits for no one.
    assert.deepEqual(
      open.map((run) => run.state),
      ['Running'],
    );
  }
  assert.equal((await history('nightly')).length, 30);
});

test('a job is changed: a new schedule counts from now on, anything else keeps its next occurrence', async () => {
  const { jobs, at } = await newJobBench();
  const { id } = await jobs.create(newJob());
  await jobs.create(newJob({ name: 'other' }));
  await at('2026-06-01T00:30:00Z');
  const renamed = await jobs.update(id, { name: 'renamed', catch_up: 'all', recurrence: 4 });
  assert.deepEqual([renamed!.id, renamed!.next_run_at], [id, Date.parse('2026-06-01T01:00:00Z')]);
  const moved = await jobs.update('renamed', { cron: '@daily', time_zone: 'Asia/Tokyo' });
  assert.equal(moved!.next_run_at, Date.parse('2026-06-01T15:00:00Z'));
  assert.equal((await jobs.update(id, { recurrence: 0 }))!.next_run_at, null);
  assert.equal((await jobs.update(id, { recurrence: null }))!.next_run_at, Date.parse('2026-06-01T15:00:00Z'));
  const workflow = { root: { mode: 'parallel', children: [{ kind: 'DnsScan' }] } };
  assert.deepEqual((await jobs.update(id, { workflow }))!.workflow, workflow);

  await assert.rejects(jobs.update(id, { name: 'other' }), {
    code: 'CONFLICT',
    message: 'Job other already exists',
  });
  await assert.rejects(jobs.update(id, { cron: '0 0 31 2 *' }), {
    details: ['cron: names a day that never occurs'],
  });
  await assert.rejects(jobs.update(id, { workflow: { root: 7 } }), { code: 'VALIDATION_FAILED' });
  assert.equal(await jobs.update('unknown', {}), null);
});

test('what a job may start is checked before it is stored', async () => {
  const { jobs, sent } = await newJobBench();
  const uuid = '01890a5d-ac96-774b-bcce-b302099a8057';
  const root = { id: uuid, mode: 'parallel', children: [{ kind: 'Scan', id: uuid }, { kind: 7 }] };
  await assert.rejects(jobs.create(newJob({ workflow: { root } })), (error: { details: string[] }) => {
    assert.ok(error.details.some((detail) => detail.startsWith('workflow.root.children[1].kind: ')));
    return true;
  });
  const fixed = { id: uuid, mode: 'parallel', children: [{ id: uuid.replace('8057', '8058'), kind: 'Scan' }] };
  await assert.rejects(jobs.create(newJob({ workflow: { root: fixed } })), {
    details: [
      'workflow.root.id: must not be a UUID in a job, since each run creates its own; use a name',
      'workflow.root.children[0].id: must not be a UUID in a job, since each run creates its own; use a name',
    ],
  });
  const large = {
    mode: 'parallel',
    children: Array.from({ length: 40 }, () => ({ kind: 'Scan', input: { text: 'x'.repeat(30_000) } })),
  };
  await assert.rejects(jobs.create(newJob({ workflow: { root: large } })), {
    details: ['workflow: must have at most 1048576 bytes (got 1201481)'],
  });

  await jobs.create(newJob({ workflow: { name: 'named', root: { id: 'top', mode: 'parallel', children: [] } } }));
  await assert.rejects(jobs.create(newJob()), { code: 'CONFLICT', message: 'Job nightly already exists' });
  const run = await jobs.trigger('nightly');
  const [message] = await sent();
  assert.equal(message!.collection.name, 'named');
  assert.deepEqual({ ...message!.collection.root }, { id: run!.id, local_id: 'top', mode: 'parallel', children: [] });
});

test('next occurrences: as many as it will still start, none while it is paused', async () => {
  const { jobs } = await newJobBench();
  await jobs.create(newJob({ recurrence: 2 }));
  const told = async (count: number): Promise<string[]> =>
    (await jobs.upcoming('nightly', count))!.times.map((time) => new Date(time).toISOString().slice(11, 16));
  assert.deepEqual(await told(5), ['01:00', '02:00']);
  assert.deepEqual(await told(1), ['01:00']);
  await jobs.update('nightly', { recurrence: null });
  assert.deepEqual(await told(3), ['01:00', '02:00', '03:00']);
  await jobs.pause('nightly');
  assert.deepEqual(await told(3), []);
});

test('jobs are listed by name, also only those that are paused', async () => {
  const { jobs } = await newJobBench();
  for (const name of ['b', 'a', 'c']) await jobs.create(newJob({ name, paused: name === 'b' }));
  const names = async (page: { paused?: boolean; offset: number; limit: number }): Promise<string[]> =>
    (await jobs.list(page)).map(({ name }) => name);
  assert.deepEqual(await names({ offset: 0, limit: 2 }), ['a', 'b']);
  assert.deepEqual(await names({ offset: 2, limit: 2 }), ['c']);
  assert.deepEqual(await names({ paused: true, offset: 0, limit: 10 }), ['b']);
  assert.deepEqual(await names({ paused: false, offset: 0, limit: 10 }), ['a', 'c']);
});
