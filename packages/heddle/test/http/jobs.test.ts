/** The job API on a real PostgreSQL, through the typed client where it has a method. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import type { HeddleApiError } from '@heddle/client';
import { HeddleClient } from '@heddle/client';
import { VirtualClock } from '@heddle/base/clock';
import type { NewJobDto } from '../../src/http/wire/job.ts';
import { contextOn } from '@heddle/test-support/engine/schedule/fixture';
import { createJobs } from '@heddle/core/engine/schedule/jobs';
import { startDueJobs } from '@heddle/core/internal/engine/schedule/start-due-jobs';
import { finishJobRuns } from '@heddle/core/internal/engine/schedule/finish-job-runs';
import type { JobContext } from '@heddle/core/engine/schedule/context';
import { MANAGER_QUEUE } from '@heddle/core/domain/message';
import { PostgresQueue } from '@heddle/core/internal/queue/postgres';
import type { Database } from '@heddle/core/store/database';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { createTestServer, type Problem, type TestServer } from '@heddle/test-support/http/server';

const UNKNOWN_ID = '01900000-0000-7000-8000-000000000000';

let server: TestServer;
let client: HeddleClient;
let clock: VirtualClock;
let context: JobContext;
let database: Database;

before(async () => {
  ({ database } = await createTestDatabase());
  clock = new VirtualClock(Date.parse('2026-03-28T12:00:00Z'));
  context = contextOn(database, clock);
  server = await createTestServer({ jobs: createJobs(context), database });
  const address = await server.app.listen({ host: '127.0.0.1', port: 0 });
  client = new HeddleClient({ baseUrl: address });
});

after(async () => {
  await server.app.close();
});

function newJob(change: Partial<NewJobDto> = {}): NewJobDto {
  return {
    name: 'nightly',
    cron: '30 2 * * *',
    workflow: { name: 'scan', root: { mode: 'sequential', children: [{ id: 'first', kind: 'DnsScan', input: {} }] } },
    ...change,
  };
}

async function refused(method: 'GET' | 'POST' | 'PATCH', url: string, payload?: object): Promise<Problem> {
  const response = await server.app.inject({ method, url, ...(payload === undefined ? {} : { payload }) });
  assert.ok(response.statusCode >= 400, response.body);
  return response.json<Problem>();
}

test('a job is created with its defaults, and found by id and name', async () => {
  const response = await server.app.inject({ method: 'POST', url: '/v1/jobs', payload: newJob({ name: 'defaults' }) });
  assert.equal(response.statusCode, 201);
  const created = response.json<Record<string, unknown>>();
  assert.equal(response.headers.location, `/v1/jobs/${String(created['id'])}`);
  assert.deepEqual(created, {
    id: created['id'],
    name: 'defaults',
    cron: '30 2 * * *',
    time_zone: 'UTC',
    recurrence: null,
    overlap: 'skip',
    catch_up: 'once',
    paused: false,
    paused_reason: null,
    next_run_at: '2026-03-29T02:30:00.000Z',
    created_at: '2026-03-28T12:00:00.000Z',
    updated_at: '2026-03-28T12:00:00.000Z',
    workflow: newJob().workflow,
  });
  assert.deepEqual(await client.jobs.get('defaults'), created);
  assert.deepEqual(await client.jobs.get(String(created['id']).toUpperCase()), created);
  const [listed] = await client.jobs.list();
  assert.equal('workflow' in listed!, false);
  assert.deepEqual([listed!.name, listed!.last_run], ['defaults', null]);
  await client.jobs.remove('defaults');
  await assert.rejects(client.jobs.get('defaults'), (error: HeddleApiError) => error.status === 404);
});

test('every fault is reported, those of the workflow with their paths', async () => {
  const fields = await refused('POST', '/v1/jobs', { name: 'with space', cron: 7, overlap: 'skipp', workflows: {} });
  assert.equal(fields.code, 'VALIDATION_FAILED');
  assert.deepEqual(
    fields.details.map((detail) => detail.split(':')[0]),
    ['workflow', 'name', 'cron', 'overlap', 'workflows'],
  );
  const deeper = await refused('POST', '/v1/jobs', {
    name: UNKNOWN_ID,
    cron: '61 * * * *',
    time_zone: 'Europe/Atlantis',
    workflow: { root: { mode: 'sequental', children: [{ kind: 'Scan', inptu: {} }] } },
  });
  assert.deepEqual(
    deeper.details.map((detail) => detail.split(':')[0]),
    ['name', 'time_zone', 'cron', 'workflow.root.mode', 'workflow.root.children[0].inptu'],
  );
  const both = await refused('POST', '/v1/jobs', {
    name: 'both',
    cron: '61 * * * *',
    overlap: 'skipp',
    workflow: { root: { mode: 'sequental', children: [] } },
  });
  assert.deepEqual(
    both.details.map((detail) => detail.split(':')[0]),
    ['overlap', 'cron', 'workflow.root.mode'],
  );
  const changes = await refused('PATCH', '/v1/jobs/none', { cron: 'never', weekly: true });
  assert.deepEqual(
    changes.details.map((detail) => detail.split(':')[0]),
    ['weekly', 'cron'],
  );
  assert.deepEqual((await refused('PATCH', '/v1/jobs/none', {})).details, [
    'body: must have at least 1 member of name, cron, time_zone, recurrence, overlap, catch_up, workflow',
  ]);
  assert.equal((await refused('GET', '/v1/jobs/a%20b')).code, 'VALIDATION_FAILED');
  assert.equal((await refused('GET', '/v1/jobs/none/history?state=Lost')).code, 'INVALID_QUERY');
  assert.equal((await refused('GET', '/v1/jobs/none/next?count=0')).code, 'INVALID_QUERY');
});

test('webhooks to forbidden addresses are rejected, in jobs and in workflows', async () => {
  const hook = { kind: 'Webhook', params: { url: 'http://blocked.test/x', verb: 'Post' } };
  const root = {
    mode: 'sequential',
    children: [{ kind: 'a' }, { mode: 'parallel', children: [{ kind: 'b', on_failure: [hook], on_start: hook }] }],
  };
  const inRoot = [
    'root.children[1].children[0].on_failure.params.url',
    'root.children[1].children[0].on_start.params.url',
  ];
  const job = await refused('POST', '/v1/jobs', newJob({ name: 'blocked', workflow: { root } as never }));
  assert.deepEqual(
    job.details.map((detail) => detail.split(': ')[0]),
    inRoot.map((path) => `workflow.${path}`),
  );
  const workflow = await refused('POST', '/v1/workflows', { root });
  assert.deepEqual(
    workflow.details.map((detail) => detail.split(': ')[0]),
    inRoot,
  );
  await client.jobs.create(newJob({ name: 'open' }));
  assert.equal((await refused('PATCH', '/v1/jobs/open', { workflow: { root } })).details.length, 2);
  await client.jobs.remove('open');
});

test('a missing job is 404, a duplicate name 409', async () => {
  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/next'],
    ['GET', '/history'],
    ['POST', '/pause'],
    ['POST', '/resume'],
    ['POST', '/trigger'],
  ] as const) {
    const problem = await refused(method, `/v1/jobs/${UNKNOWN_ID}${path}`);
    assert.deepEqual([problem.code, problem.error], ['NOT_FOUND', `No such job: ${UNKNOWN_ID}`]);
  }
  await client.jobs.create(newJob({ name: 'taken' }));
  assert.equal((await refused('POST', '/v1/jobs', newJob({ name: 'taken' }))).code, 'CONFLICT');
  await client.jobs.remove('taken');
});

test('the next occurrences are returned in UTC and in the time zone of the job, also at clock changes', async () => {
  await client.jobs.create(newJob({ name: 'berlin', time_zone: 'Europe/Berlin' }));
  assert.deepEqual(await client.jobs.next('berlin', 2), [
    { at: '2026-03-29T01:00:00.000Z', local: '2026-03-29T03:00:00+02:00' },
    { at: '2026-03-30T00:30:00.000Z', local: '2026-03-30T02:30:00+02:00' },
  ]);
  await client.jobs.create(newJob({ name: 'midnight', cron: '0 0 * * *' }));
  assert.deepEqual(await client.jobs.next('midnight', 1), [
    { at: '2026-03-29T00:00:00.000Z', local: '2026-03-29T00:00:00+00:00' },
  ]);
  assert.equal((await client.jobs.next('midnight')).length, 5);
  await client.jobs.remove('berlin');
  await client.jobs.remove('midnight');
});

test('a job that is started manually continues the trace of the request', async () => {
  await client.jobs.create(newJob({ name: 'traced', overlap: 'allow' }));
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const started: (string | undefined)[] = [];
  for (const headers of [{ traceparent }, { traceparent: 'malformed' }]) {
    const url = '/v1/jobs/traced/trigger';
    const { id } = (await server.app.inject({ method: 'POST', url, headers })).json<{ id: string }>();
    const queue = new PostgresQueue({ ...context, database, clock });
    const received = await queue.receive(MANAGER_QUEUE, { max: 1_000, wait_ms: 0, visibility_ms: 60_000 });
    const bodies = received.map(({ body }) => JSON.parse(body) as { job_run_id: string; traceparent?: string });
    started.push(bodies.find(({ job_run_id }) => job_run_id === id)!.traceparent);
  }
  assert.deepEqual(started, [traceparent, undefined]);
  await client.jobs.remove('traced');
});

test('the life of a job: changed, started by schedule and manually, ended, paused, resumed, with its history', async () => {
  const { id } = await client.jobs.create(newJob({ recurrence: 3 }));
  const changed = await client.jobs.update('nightly', { cron: '@hourly', overlap: 'queue' });
  assert.deepEqual([changed.id, changed.overlap, changed.next_run_at], [id, 'queue', '2026-03-28T13:00:00.000Z']);

  await clock.advance(3_600_000);
  await startDueJobs(context, 10);
  const waiting = await client.jobs.trigger('nightly');
  assert.deepEqual([waiting.state, waiting.trigger], ['Queued', 'manual']);
  const conflict = await refused('POST', '/v1/jobs/nightly/trigger');
  assert.deepEqual(
    [conflict.code, conflict.details],
    [
      'CONFLICT',
      [
        'overlap: the policy of nightly is queue, and a run is waiting already; wait for the run under way, cancel its workflow, or set overlap to allow',
      ],
    ],
  );

  const [run] = await client.jobs.history('nightly', { state: 'Running' });
  await clock.advance(60_000);
  await context.database.transaction((tx) =>
    finishJobRuns(context, tx, [
      {
        workflow_id: run!.workflow_id!,
        job_run_id: run!.id,
        root_state: 'partially_failed',
        ended_at: clock.now(),
        counts: { succeeded: 2, failed: 1, canceled: 1 },
      },
    ]),
  );
  const [manual, first] = await client.jobs.history(id);
  assert.deepEqual(first, {
    id: run!.id,
    job_id: id,
    trigger: 'schedule',
    scheduled_for: '2026-03-28T13:00:00.000Z',
    state: 'PartiallyFailed',
    reason: null,
    workflow_id: run!.id,
    started_at: '2026-03-28T13:00:00.000Z',
    completed_at: '2026-03-28T13:01:00.000Z',
    task_counts: { Succeeded: 2, Failed: 2 },
  });
  assert.deepEqual([manual!.id, manual!.state], [waiting.id, 'Running']);
  assert.deepEqual(
    (await client.jobs.list()).find(({ name }) => name === 'nightly')!.last_run,
    manual,
    'the list has the latest entry of the history',
  );
  assert.deepEqual((await client.jobs.history(id, { page: 1, page_size: 1 })).length, 1);

  const paused = await client.jobs.pause('nightly');
  assert.deepEqual([paused.paused, paused.next_run_at, paused.recurrence], [true, null, 2]);
  assert.deepEqual(await client.jobs.next('nightly'), []);
  assert.deepEqual(
    (await client.jobs.list({ paused: true })).map((job) => job.name),
    ['nightly'],
  );
  await clock.advance(10 * 3_600_000);
  const resumed = await client.jobs.resume('nightly');
  assert.deepEqual([resumed.paused, resumed.next_run_at], [false, '2026-03-29T00:00:00.000Z']);
  await client.jobs.remove(id);
  await assert.rejects(client.jobs.remove(id), (error: HeddleApiError) => error.status === 404);
});

test('a very deep workflow is accepted in a job as well', async () => {
  let root: object = { mode: 'parallel', children: [{ kind: 'Scan' }] };
  for (let depth = 2; depth < 900; depth += 1) root = { mode: 'sequential', children: [root] };
  const job = await client.jobs.create(newJob({ name: 'deep', workflow: { root } as NewJobDto['workflow'] }));
  // The comparison of deep objects would exceed the stack.
  assert.equal(JSON.stringify(job.workflow), JSON.stringify({ root }));
  await client.jobs.trigger('deep');
  await client.jobs.remove('deep');
});

test('a repeated trigger with the same key starts nothing and returns the same run; another job starts its own', async () => {
  await client.jobs.create(newJob({ name: 'first' }));
  await client.jobs.create(newJob({ name: 'second' }));
  const [one, two] = await Promise.all([
    client.jobs.trigger('first', { idempotencyKey: 'k' }),
    client.jobs.trigger('first', { idempotencyKey: 'k' }),
  ]);
  assert.deepEqual(one, two);
  assert.equal((await client.jobs.history('first')).length, 1);
  assert.notEqual((await client.jobs.trigger('second', { idempotencyKey: 'k' })).id, one.id);
  await assert.rejects(
    client.jobs.trigger('first', { idempotencyKey: 'another' }),
    (error: HeddleApiError) => error.status === 409,
  );
  const unusable = await server.app.inject({
    method: 'POST',
    url: '/v1/jobs/first/trigger',
    headers: { 'idempotency-key': 'with space' },
  });
  assert.equal(unusable.statusCode, 400);
  await client.jobs.remove('first');
  await client.jobs.remove('second');
});

test('an unexpected body is rejected, an empty object accepted', async () => {
  await client.jobs.create(newJob({ name: 'bare' }));
  const { details } = await refused('POST', '/v1/jobs/bare/trigger', { input: { n: 1 } });
  assert.deepEqual(details, ['body: must be absent; send no body']);
  assert.deepEqual(await client.jobs.history('bare'), []);
  assert.equal((await server.app.inject({ method: 'POST', url: '/v1/jobs/bare/pause', payload: {} })).statusCode, 200);
  await client.jobs.remove('bare');
});
