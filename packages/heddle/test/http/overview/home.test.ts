/** Home over the API, on a real engine and a real PostgreSQL. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { VirtualClock } from '@heddle/base/clock';
import { newId } from '@heddle/base/random';
import type { FailedTasksDto, HomeDto } from 'heddle/internal/http/wire/home';
import { createOverview } from '@heddle/core/engine/overview/overview';
import type { UnreachableExecutor } from '@heddle/core/engine/overview/port';
import { claimKind, newBench, newTask, submitTasks, type Bench } from '@heddle/test-support/engine/fixture';
import { createTestServer, type Problem, type TestServer } from '@heddle/test-support/http/server';

let bench: Bench;
let server: TestServer;
const clock = new VirtualClock();
const unreachable: UnreachableExecutor[] = [];

before(async () => {
  bench = await newBench();
  const { engine, database } = bench;
  const overview = createOverview({ database, clock, unreachable: () => unreachable });
  server = await createTestServer({ engine, database, overview });
});

after(async () => {
  await server.app.close();
  await bench.engine.close();
});

async function get<Answer>(url: string): Promise<Answer> {
  const response = await server.app.inject(url);
  assert.equal(response.statusCode, 200, response.body);
  return response.json<Answer>();
}

/** A fresh answer, not one that was shared with an earlier request. */
async function home(): Promise<HomeDto> {
  await clock.advance(2_000);
  return get('/v1/home');
}

/** Runs tasks of a kind to a failure, each with the reason of its place. */
async function fail(kind: string, reasons: readonly string[], name: string | null = null): Promise<string[]> {
  const tasks = reasons.map((_, index) => newTask({ kind, name: `${kind} ${index}` }));
  await bench.engine.submit([{ workflow_id: newId(), name, tasks, traceparent: null, idempotency: null }]);
  const claimed = await claimKind(bench.engine, kind);
  const reasonOf = new Map(tasks.map((task, index) => [task.id, reasons[index]!]));
  await bench.engine.report(
    claimed.map(({ id, attempt }) => ({ task_id: id, attempt, outcome: 'failed', reason: reasonOf.get(id)! })),
  );
  return tasks.map(({ id }) => id);
}

const failingOf = (answer: HomeDto, kind: string) => answer.failing.filter((group) => group.kind === kind);
const attentionOf = (answer: HomeDto, type: string) => answer.attention.filter((item) => item.type === type);

describe('failing tasks', () => {
  test('are grouped by kind and reason, without the variable parts of the reason', async () => {
    const ids = await fail(
      'fetch',
      [
        'order 17: connect ECONNREFUSED 10.0.0.12:5432',
        'order 18: connect ECONNREFUSED 10.0.0.12:5433',
        'order 19: connect ECONNREFUSED 10.0.0.13:5432',
        'HTTP 503 for "a"',
        'HTTP 404 for "b"',
        'HTTP 404 for "c"',
      ],
      'nightly',
    );
    const again = await fail('fetch', ['order 20: connect ECONNREFUSED 10.0.0.12:5432']);
    const answer = await home();
    const groups = failingOf(answer, 'fetch');
    assert.deepEqual(
      groups.map(({ pattern, tasks, runs }) => ({ pattern, tasks, runs })),
      [
        { pattern: 'order …: connect ECONNREFUSED 10.0.0.12:…', tasks: 3, runs: 2 },
        { pattern: 'HTTP 404 for …', tasks: 2, runs: 1 },
        ...groups.slice(2).map(({ pattern, tasks, runs }) => ({ pattern, tasks, runs })),
      ],
    );
    assert.deepEqual(
      groups
        .slice(2)
        .map(({ pattern }) => pattern)
        .sort(),
      ['HTTP 503 for …', 'order …: connect ECONNREFUSED 10.0.0.13:…'],
    );
    const [refused] = groups;
    assert.equal(refused!.reason, 'order 20: connect ECONNREFUSED 10.0.0.12:5432');
    assert.equal(refused!.sample.task_id, again[0]);
    assert.equal(refused!.sample.run_name, null);
    assert.equal(refused!.tasks_capped, false);
    assert.ok(Date.parse(refused!.first_at) <= Date.parse(refused!.last_at));

    const first = await get<FailedTasksDto>(`/v1/failures?fingerprint=${refused!.fingerprint}&page_size=2`);
    const second = await get<FailedTasksDto>(
      `/v1/failures?fingerprint=${refused!.fingerprint}&page_size=2&after=${first.next}`,
    );
    const listed = [...first.tasks, ...second.tasks];
    assert.deepEqual(listed.map(({ task_id }) => task_id).sort(), [ids[0], ids[1], again[0]].sort());
    assert.equal(listed[0]!.task_id, again[0]);
    assert.equal(second.next, null);
    assert.equal(listed.find(({ task_id }) => task_id === ids[0])!.run_name, 'nightly');
  });

  test('the same reason of another kind is another group', async () => {
    await fail('one', ['no']);
    await fail('other', ['no']);
    const answer = await home();
    assert.notEqual(failingOf(answer, 'one')[0]!.fingerprint, failingOf(answer, 'other')[0]!.fingerprint);
  });

  test('those that failed by dependency are not counted: their cause is', async () => {
    const parent = newTask({ kind: 'cause' });
    const child = newTask({ kind: 'effect', dependencies: [{ task_id: parent.id, requires_success: true }] });
    await submitTasks(bench.engine, [parent, child]);
    const [claimed] = await claimKind(bench.engine, 'cause');
    await bench.engine.report([{ task_id: claimed!.id, attempt: 1, outcome: 'failed', reason: 'disk full' }]);
    assert.equal((await bench.engine.getTask(child.id))!.state, 'failed');
    const answer = await home();
    assert.equal(failingOf(answer, 'cause')[0]!.tasks, 1);
    assert.deepEqual(failingOf(answer, 'effect'), []);
  });

  test('a retried task is no longer failing, and fails again as a new one', async () => {
    const [id] = await fail('flaky', ['try 1']);
    const before = await home();
    assert.equal(failingOf(before, 'flaky')[0]!.tasks, 1);
    await bench.engine.retry([id!]);
    const retried = await home();
    assert.deepEqual(failingOf(retried, 'flaky'), []);
    assert.equal(retried.now.failed_last_day.n, before.now.failed_last_day.n - 1);
    const [claimed] = await claimKind(bench.engine, 'flaky');
    await bench.engine.report([{ task_id: id!, attempt: claimed!.attempt, outcome: 'failed', reason: 'try 2' }]);
    assert.equal(failingOf(await home(), 'flaky')[0]!.reason, 'try 2');
  });

  test('an attempt that its policy retries has not failed', async () => {
    const retry = { max_attempts: 2, base_ms: 3_600_000, factor: 1, max_ms: 3_600_000, jitter: 0 };
    const patient = newTask({ kind: 'patient', retry });
    await submitTasks(bench.engine, [patient]);
    const [claimed] = await claimKind(bench.engine, 'patient');
    await bench.engine.report([{ task_id: claimed!.id, attempt: 1, outcome: 'failed', reason: 'not yet' }]);
    const answer = await home();
    assert.deepEqual(failingOf(answer, 'patient'), []);
    const delayed = answer.waiting.find(({ type }) => type === 'delayed')!;
    assert.equal(delayed.tasks, 1);
    assert.equal(delayed.sample!.task_id, patient.id);
    await bench.engine.cancel([patient.id]);
  });

  test('deleting the archived workflow removes its failures', async () => {
    const { engine, database } = bench;
    await fail('gone', ['no']);
    const query = (text: string) => database.query({ name: text.slice(0, 30), text }, []);
    await query(
      `update heddle.workflow set ended_at = now() - interval '90 days' where id in (select workflow_id from heddle.failure f join heddle.kind k on k.id = f.kind_id where k.name = 'gone')`,
    );
    await engine.retain(1_000);
    await engine.retain(1_000);
    assert.deepEqual(failingOf(await home(), 'gone'), []);
  });

  test('a wrong fingerprint or cursor is refused with the remedy', async () => {
    for (const query of ['fingerprint=12', `fingerprint=${'0'.repeat(16)}&after=x`]) {
      const response = await server.app.inject(`/v1/failures?${query}`);
      assert.equal(response.statusCode, 400, response.body);
      assert.match(response.json<Problem>().details[0]!, /hexadecimal|after: must be/);
    }
  });
});

describe('waiting tasks', () => {
  test('no worker of a kind: the kind that was meant', async () => {
    await claimKind(bench.engine, 'resize');
    const tasks = [newTask({ kind: 'resiez', name: 'first' }), newTask({ kind: 'resiez' })];
    await submitTasks(bench.engine, tasks);
    const answer = await home();
    const group = answer.waiting.find(({ kind }) => kind === 'resiez')!;
    assert.equal(group.type, 'no_worker');
    assert.equal(group.tasks, 2);
    assert.deepEqual(group.sample, { task_id: tasks[0]!.id, name: 'first' });
    assert.match(group.text, /Did you mean "resize"\?/);
    const [item] = attentionOf(answer, 'no_worker').filter(({ kind }) => kind === 'resiez');
    assert.equal(item!.severity, 'error');
    assert.equal(item!.count, 2);
    assert.match(item!.remedy, /with the kind "resize"/);

    await bench.engine.cancel(tasks.map(({ id }) => id));
    assert.equal(
      (await home()).waiting.find(({ kind }) => kind === 'resiez'),
      undefined,
    );
  });

  test('busy workers, a full rule and a pause are distinguished', async () => {
    await claimKind(bench.engine, 'busy');
    await submitTasks(bench.engine, [newTask({ kind: 'busy' })]);
    const rule = { type: 'concurrency' as const, matcher: { kind: 'limited', fields: ['tenant'] }, max: 1 };
    const limited = [1, 2, 3].map(() => newTask({ kind: 'limited', metadata: { tenant: 'acme' }, rules: [rule] }));
    await submitTasks(bench.engine, limited);
    const [holder] = await claimKind(bench.engine, 'limited');
    const paused = newTask({ kind: 'paused' });
    await submitTasks(bench.engine, [paused]);
    await bench.engine.pause([paused.id]);

    const answer = await home();
    assert.equal(answer.waiting.find(({ kind }) => kind === 'busy')!.type, 'queued');
    const full = answer.waiting.find(({ type }) => type === 'rule')!;
    assert.equal(full.kind, 'limited');
    assert.equal(full.tasks, 2);
    assert.match(full.text, /lets 1 task of kind "limited" run at once, and 1 does/);
    const pause = answer.waiting.find(({ type }) => type === 'paused')!;
    assert.deepEqual([pause.tasks, pause.sample!.task_id], [1, paused.id]);
    assert.equal(answer.now.paused.n, 1);
    assert.equal(answer.now.running.n, 1);
    // A rule at its limit is normal, until a task waits long for it or a canceled one holds it.
    assert.deepEqual(attentionOf(answer, 'full_rule'), []);
    await bench.engine.cancel([holder!.id]);
    const [item] = attentionOf(await home(), 'full_rule');
    assert.equal(item!.task_id, holder!.id);
    assert.equal(item!.slot_id, full.slot_id);
    assert.match(
      item!.title,
      /2 tasks wait for a rule: 1 task of the kind "limited" \(tenant "acme"\) may run at once/,
    );
    assert.match(item!.remedy, /heddle task release/);

    await bench.engine.resume([paused.id]);
    assert.equal((await home()).now.paused.n, 0);
  });

  test('a worker with all hands full claims nothing, and is not taken for gone until its tasks are silent too', async () => {
    const long = newTask({ kind: 'long' });
    await submitTasks(bench.engine, [long]);
    await claimKind(bench.engine, 'long', 1);
    const next = newTask({ kind: 'long' });
    await submitTasks(bench.engine, [next]);
    const before = (table: string, column: string) =>
      bench.database.query({
        name: `test.earlier_${table}`,
        text: `update ${table} set ${column} = clock_timestamp() - interval '2 minutes'
          where ${table === 'task' ? 'id' : 'lane::text'} = ${table === 'task' ? `'${long.id}'` : `(select id::text from kind where name = 'long')`}`,
      });
    const stateOf = async () => {
      const answer = await home();
      const { summary } = await get<{ summary: string }>(`/v1/tasks/${next.id}/explain`);
      return [answer.waiting.find(({ kind }) => kind === 'long')!.type, summary];
    };
    await before('claimer', 'seen_at');
    const [type, summary] = await stateOf();
    assert.equal(type, 'queued');
    assert.match(summary!, /^It is next in its lane/);
    await before('task', 'updated_at');
    const [later, explained] = await stateOf();
    assert.equal(later, 'no_worker');
    assert.match(explained!, /^No worker has requested tasks of the kind "long" since/);
  });

  test('numbers of open tasks', async () => {
    const before = await home();
    const parent = newTask({ kind: 'numbers' });
    const child = newTask({ kind: 'numbers', dependencies: [{ task_id: parent.id, requires_success: true }] });
    await submitTasks(bench.engine, [parent, child]);
    const answer = await home();
    assert.equal(answer.now.ready.n - before.now.ready.n, 1);
    assert.equal(answer.now.waiting.n - before.now.waiting.n, 1);
    assert.equal(answer.open_runs.n - before.open_runs.n, 1);
  });
});

describe('attention', () => {
  test('lost workers, dead letters, jobs, webhooks, launches and executors', async () => {
    const { database } = bench;
    const run = (text: string, values: unknown[] = []) => database.query({ name: text.slice(0, 40), text }, values);
    const job = newId();
    await run(
      `insert into heddle.queue_dead (queue, id, reason, receive_count, sent_at, dead_lettered_at, body)
      values ('manager', $1, 'no such task', 1, now(), now(), '{}')`,
      [newId()],
    );
    await run(
      `insert into heddle.task_attempt (task_id, attempt, claimed_by, claimed_at, ended_at, outcome)
      values ($1, 1, 'host/7', now(), now(), 20), ($1, 2, 'host/7', now(), now() - interval '2 hours', 20)`,
      [newId()],
    );
    await run(
      `insert into recon.jobs (id, name, cron, time_zone, overlap, catch_up, workflow, created_at, updated_at, next_run_at)
      values ($1, 'nightly', '0 0 * * *', 'UTC', 'skip', 'skip', '{}', now(), now(), now() + interval '1 hour')`,
      [job],
    );
    await run(
      `insert into recon.job_history (id, job_id, trigger, scheduled_for, state, reason, workflow_id, started_at, completed_at)
      select gen_random_uuid(), $1, 'manual', now() - n * interval '1 hour', case when n > 2 then 'Succeeded' else 'Failed' end,
        'it failed', gen_random_uuid(), now(), now() from generate_series(1, 5) n`,
      [job],
    );
    const delivery = `insert into heddle.delivery (id, task_id, workflow_id, attempt, trigger, ordinal, origin, action,
      idempotency_key, state, next_try_at, tries, first_try_at, last_error, created_at)
      values (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 1, 'success', 0, $1, '{}', 'k', $2, $3::timestamptz, 4, now(), $4, now())`;
    await run(delivery, ['https://dead.example', 'dead', null, 'answered 500']);
    await run(delivery, ['https://down.example', 'due', '2999-01-01', 'ECONNREFUSED']);
    unreachable.push({ executor: 'lab', endpoint: 'tcp://lab:7000', since: null, message: 'timed out' });

    const answer = await home();
    const [letters] = attentionOf(answer, 'dead_letters');
    assert.deepEqual([letters!.queue, letters!.count], ['manager', 1]);
    assert.match(letters!.title, /no such task/);
    const [lost] = attentionOf(answer, 'lost_worker');
    assert.deepEqual([lost!.worker, lost!.count], ['host/7', 1]);
    const [failed] = attentionOf(answer, 'job_failed');
    assert.deepEqual([failed!.job_id, failed!.count], [job, 2]);
    assert.match(failed!.title, /The last 2 runs of the job "nightly" failed: it failed\./);
    assert.equal(attentionOf(answer, 'webhook_dead')[0]!.origin, 'https://dead.example');
    assert.equal(attentionOf(answer, 'webhook_failing')[0]!.origin, 'https://down.example');
    assert.match(attentionOf(answer, 'executor_unreachable')[0]!.title, /executor lab .* does not respond: timed out/);
    assert.deepEqual(attentionOf(answer, 'job_missed'), []);

    await run(`update recon.jobs set next_run_at = now() - interval '1 hour' where id = $1`, [job]);
    assert.match(attentionOf(await home(), 'job_missed')[0]!.title, /was due at .* and has not been started/);
  });
});

describe('activity', () => {
  test('what processes started and ended is added up by the minute', async () => {
    const total = (answer: HomeDto) => {
      const sum = { started: 0, succeeded: 0, failed: 0, canceled: 0 };
      for (const minute of answer.last_hour) {
        for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += minute[name];
      }
      return sum;
    };
    await bench.engine.flushActivity();
    const before = total(await home());
    const tasks = [0, 1, 2].map(() => newTask({ kind: 'counted' }));
    await submitTasks(bench.engine, tasks);
    const claimed = await claimKind(bench.engine, 'counted', 2);
    const outcomes = ['succeeded', 'failed'] as const;
    await bench.engine.report(claimed.map(({ id, attempt }, at) => ({ task_id: id, attempt, outcome: outcomes[at]! })));
    await bench.engine.cancel([tasks[2]!.id]);
    await bench.engine.flushActivity();
    await bench.engine.flushActivity();
    const answer = await home();
    const after = total(answer);
    assert.deepEqual(
      Object.fromEntries(Object.entries(after).map(([name, n]) => [name, n - before[name as keyof typeof before]])),
      { started: 2, succeeded: 1, failed: 1, canceled: 1 },
    );
    assert.equal(answer.last_hour.length, 60);
    assert.ok(
      answer.last_hour.some(({ wait_p50_ms, wait_p95_ms }) => wait_p50_ms !== null && wait_p50_ms <= wait_p95_ms!),
    );
  });
});

test('concurrent requests share one answer, and later ones get a new one', async () => {
  await clock.advance(2_000);
  const answers = await Promise.all([1, 2, 3].map(() => get<HomeDto>('/v1/home')));
  assert.equal(new Set(answers.map(({ at }) => at)).size, 1);
  assert.notEqual((await home()).at, answers[0]!.at);
});
