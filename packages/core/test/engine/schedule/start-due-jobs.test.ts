import assert from 'node:assert/strict';
import { test } from 'node:test';

import { startDueJobs } from '../../../src/engine/schedule/start-due-jobs.ts';
import { openTestDatabase } from '@heddle/test-support/postgres';
import { contextOn, newJob, newJobBench, statesOf, told } from '@heddle/test-support/engine/schedule/fixture';

test('an occurrence starts when its moment has come: a message to the manager, an entry of the history, the next moment', async () => {
  const { jobs, at, start, sent, history } = await newJobBench();
  const job = await jobs.create(newJob({ name: 'hourly', recurrence: 5 }));
  assert.equal(job.next_run_at, Date.parse('2026-06-01T01:00:00Z'));

  await at('2026-06-01T00:59:59.999Z');
  assert.deepEqual(await start(), { started: 0, queued: 0, skipped: 0, paused: 0, more: false });
  await at('2026-06-01T01:00:00Z');
  assert.deepEqual(await start(), { started: 1, queued: 0, skipped: 0, paused: 0, more: false });
  assert.deepEqual(await start(), { started: 0, queued: 0, skipped: 0, paused: 0, more: false });

  const [run, ...others] = await history('hourly');
  assert.deepEqual(others, []);
  assert.equal(run!.workflow_id, run!.id);
  assert.deepEqual(
    [run!.state, run!.trigger, run!.scheduled_for, run!.started_at, run!.completed_at],
    ['Running', 'schedule', Date.parse('2026-06-01T01:00:00Z'), Date.parse('2026-06-01T01:00:00Z'), null],
  );
  const [message, ...more] = await sent();
  assert.deepEqual(more, []);
  assert.equal(message!.type, 'CreateTaskCollection');
  assert.equal(message!.job_run_id, run!.id);
  assert.equal(message!.collection.root.id, run!.id);
  assert.equal(message!.collection.name, 'hourly');
  assert.equal(message!.collection.root.children[0]!.kind, 'TcpSyn');
  const after = await jobs.get('hourly');
  assert.deepEqual([after!.next_run_at, after!.recurrence], [Date.parse('2026-06-01T02:00:00Z'), 4]);
});

test('ten servers start each of a hundred due jobs once', async () => {
  const { jobs, at, clock, url, sent, database } = await newJobBench();
  for (let index = 0; index < 100; index += 1) {
    await jobs.create(newJob({ name: `job-${index}`, catch_up: 'all', overlap: 'allow', recurrence: 50 }));
  }
  const servers = Array.from({ length: 10 }, () => openTestDatabase(url, { maxSize: 3 }));
  try {
    const contexts = servers.map((server) => contextOn(server, clock));
    let started = 0;
    for (const moment of ['2026-06-01T01:00:00Z', '2026-06-01T02:00:00Z', '2026-06-01T06:00:00Z']) {
      await at(moment);
      // Small limits, so that every server works and every server meets what others hold.
      const passes = contexts.flatMap((context) => Array.from({ length: 8 }, () => startDueJobs(context, 7)));
      const results = await Promise.all(passes);
      started += results.reduce((sum, result) => sum + result.started, 0);
      assert.ok(results.filter((result) => result.started > 0).length > 1, 'one server did it all');
      // Calls made while others held the rest found nothing; a last call finds what is left.
      for (
        let last = await startDueJobs(contexts[0]!, 100);
        last.started > 0;
        last = await startDueJobs(contexts[0]!, 100)
      ) {
        started += last.started;
      }
    }
    assert.equal(started, 600);
  } finally {
    await Promise.all(servers.map((server) => server.close()));
  }
  const messages = await sent();
  assert.equal(messages.length, 600);
  assert.equal(new Set(messages.map((message) => message.job_run_id)).size, 600);
  const [counted] = await database.query<{ runs: number; occurrences: number; left: number }>({
    name: 'test.counted',
    text: `select count(*) as runs, count(distinct (job_id, scheduled_for)) as occurrences,
      (select min(recurrence) + max(recurrence) from recon.jobs) as left from recon.job_history`,
  });
  assert.deepEqual(counted, { runs: 600, occurrences: 600, left: 88 });
});

test('a recurrence of n starts n times, then never again; of 0, never', async () => {
  const { jobs, at, start, finish, history } = await newJobBench();
  await jobs.create(newJob({ name: 'twice', recurrence: 2 }));
  const never = await jobs.create(newJob({ name: 'never', recurrence: 0 }));
  assert.equal(never.next_run_at, null);
  for (const hour of ['01', '02', '03', '04']) {
    await at(`2026-06-01T${hour}:00:00Z`);
    await start();
    await finish(statesOf(await history('twice'), 'Running'));
  }
  assert.deepEqual(told(await history('twice')), ['01:00 Succeeded', '02:00 Succeeded']);
  assert.deepEqual(await history('never'), []);
  const spent = await jobs.get('twice');
  assert.deepEqual([spent!.recurrence, spent!.next_run_at], [0, null]);

  const again = await jobs.update('twice', { recurrence: 1 });
  assert.equal(again!.next_run_at, Date.parse('2026-06-01T05:00:00Z'));
});

test('what skips an occurrence does not use up the recurrence', async () => {
  const { jobs, at, start, history } = await newJobBench();
  await jobs.create(newJob({ recurrence: 2 }));
  for (const hour of ['01', '02', '03']) {
    await at(`2026-06-01T${hour}:00:00Z`);
    await start();
  }
  const runs = await history('nightly');
  assert.deepEqual(told(runs), ['01:00 Running', '02:00 Skipped', '03:00 Skipped']);
  assert.equal(runs[1]!.reason, 'the run before it has not ended');
  assert.equal((await jobs.get('nightly'))!.recurrence, 1);
});

test('a transaction that fails half-way leaves nothing behind, and the next pass starts the occurrence once', async () => {
  const { jobs, at, start, sent, history, context } = await newJobBench();
  await jobs.create(newJob({ recurrence: 3 }));
  await jobs.create(newJob({ name: 'other', recurrence: 3 }));
  await at('2026-06-01T01:00:00Z');
  let sends = 0;
  const broken = {
    ...context,
    queue: {
      sendIn: async (...message: Parameters<typeof context.queue.sendIn>) => {
        sends += 1;
        await context.queue.sendIn(...message);
        throw new Error('crash after the message');
      },
    },
  };
  await assert.rejects(startDueJobs(broken, 10), /crash after the message/);
  assert.equal(sends, 1);
  assert.deepEqual(await sent(), []);
  assert.deepEqual(await history('nightly'), []);
  assert.equal((await jobs.get('nightly'))!.recurrence, 3);
  assert.equal((await start()).started, 2);
  assert.equal((await sent()).length, 2);
});

test('a job that cannot be started is paused with the reason and holds back no other', async () => {
  const { jobs, at, start, database, history } = await newJobBench();
  await jobs.create(newJob({ name: 'bad-workflow' }));
  await jobs.create(newJob({ name: 'bad-cron' }));
  await jobs.create(newJob({ name: 'bad-zone' }));
  await jobs.create(newJob({ name: 'good' }));
  await database.query({
    name: 'test.spoil',
    text: `update recon.jobs set
      workflow = case name when 'bad-workflow' then '{"root": {"mode": "sideways", "children": []}}' else workflow end,
      cron = case name when 'bad-cron' then '61 * * * *' else cron end,
      time_zone = case name when 'bad-zone' then 'Atlantis/Center' else time_zone end`,
  });
  await at('2026-06-01T01:00:00Z');
  assert.deepEqual(await start(), { started: 1, queued: 0, skipped: 3, paused: 3, more: false });
  assert.deepEqual(told(await history('good')), ['01:00 Running']);
  for (const [name, reason] of [
    ['bad-workflow', /^workflow\.root\.mode: /],
    ['bad-cron', /^cron: Invalid value for minute: 61$/],
    ['bad-zone', /^time_zone: must be the IANA name/],
  ] as const) {
    const job = (await jobs.get(name))!;
    assert.equal(job.paused, true);
    assert.match(job.paused_reason!, reason);
    const [entry] = await history(name);
    assert.equal(entry!.state, 'Skipped');
    assert.match(entry!.reason!, /^it cannot be started: /);
    await assert.rejects(jobs.resume(name), { code: 'VALIDATION_FAILED' });
  }
  await jobs.update('bad-cron', { cron: '30 * * * *' });
  const mended = await jobs.resume('bad-cron');
  assert.deepEqual(
    [mended!.paused, mended!.paused_reason, mended!.next_run_at],
    [false, null, Date.parse('2026-06-01T01:30:00Z')],
  );
});

test('the history keeps the latest runs and, apart from them, the latest skipped occurrences', async () => {
  const { jobs, at, start, database, history } = await newJobBench();
  const { id } = await jobs.create(newJob({ overlap: 'allow' }));
  await database.query(
    {
      name: 'test.old',
      text: `insert into recon.job_history (id, job_id, trigger, scheduled_for, state, workflow_id, started_at, completed_at)
        select gen_random_uuid(), $1, 'schedule', at, state, case when state <> 'Skipped' then gen_random_uuid() end,
          case when state <> 'Skipped' then at end, at
        from (
          select '2026-05-30'::timestamptz + n * interval '1 second' as at, 'Succeeded' as state from generate_series(1, 1005) n
          union all
          select '2026-05-31'::timestamptz + n * interval '1 second', 'Skipped' from generate_series(1, 205) n
          union all select '2025-01-01'::timestamptz, 'Failed') old`,
    },
    [id],
  );
  await at('2026-06-01T01:00:00Z');
  await start();
  const runs = await history('nightly');
  assert.deepEqual(
    (['Succeeded', 'Skipped', 'Failed', 'Running'] as const).map((state) => statesOf(runs, state).length),
    [1000, 200, 0, 1],
  );
  assert.equal(runs[0]!.scheduled_for, Date.parse('2026-05-30T00:00:06Z'));
});
