/** The calendar of jobs and backfill over HTTP, on a real PostgreSQL. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { HeddleApiError, HeddleClient } from '@heddle/client';
import { VirtualClock } from '@heddle/base/clock';
import { newId } from '@heddle/base/random';
import { createJobs } from '@heddle/core/engine/schedule/jobs';
import type { JobContext } from '@heddle/core/engine/schedule/context';
import { finishJobRuns } from '@heddle/core/internal/engine/schedule/finish-job-runs';
import { startDueJobs } from '@heddle/core/internal/engine/schedule/start-due-jobs';
import type { Database } from '@heddle/core/store/database';
import { contextOn } from '@heddle/test-support/engine/schedule/fixture';
import { createTestServer, type TestServer } from '@heddle/test-support/http/server';
import { createTestDatabase } from '@heddle/test-support/postgres';
import type { NewJobDto } from '../../src/http/wire/job.ts';

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
  client = new HeddleClient({ baseUrl: await server.app.listen({ host: '127.0.0.1', port: 0 }) });
});

after(async () => {
  await server.app.close();
});

function newJob(name: string, change: Partial<NewJobDto> = {}): NewJobDto {
  const workflow = { root: { mode: 'sequential' as const, children: [{ kind: 'times.work' }] } };
  return { name, cron: '30 2 * * *', time_zone: 'Europe/Berlin', workflow, ...change };
}

function refused(status: number, what: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof HeddleApiError);
    assert.equal(error.status, status, error.message);
    assert.match(error.message, what);
    return true;
  };
}

async function end(job: string): Promise<void> {
  const running = await client.jobs.history(job, { state: 'Running' });
  await database.transaction((tx) =>
    finishJobRuns(
      context,
      tx,
      running.map(({ id }) => {
        const ended = { ended_at: clock.now(), counts: { succeeded: 1 } };
        return { workflow_id: id, job_run_id: id, root_state: 'succeeded' as const, ...ended };
      }),
    ),
  );
}

const RANGE = { since: '2026-03-20T00:00:00Z', until: '2026-03-23T00:00:00Z' };
const OCCURRENCES = ['2026-03-20T01:30:00.000Z', '2026-03-21T01:30:00.000Z', '2026-03-22T01:30:00.000Z'];

describe('backfill', () => {
  test('in a dry run shows the occurrences in the time zone of the job, and starts nothing', async () => {
    await client.jobs.create(newJob('dry'));
    const answer = await client.jobs.backfill('dry', { ...RANGE, dry_run: true });
    assert.deepEqual(answer, { occurrences: OCCURRENCES, started: 0 });
    assert.deepEqual(await client.jobs.history('dry'), []);
  });

  test('starts a run for each occurrence, which wait for one another, oldest first', async () => {
    await client.jobs.create(newJob('turns', { paused: true }));
    assert.deepEqual(await client.jobs.backfill('turns', RANGE), { occurrences: OCCURRENCES, started: 3 });
    const states = async (): Promise<string[]> =>
      (await client.jobs.history('turns')).map((run) => `${run.scheduled_for} ${run.trigger} ${run.state}`).reverse();
    assert.deepEqual(await states(), [
      `${OCCURRENCES[0]} backfill Running`,
      `${OCCURRENCES[1]} backfill Queued`,
      `${OCCURRENCES[2]} backfill Queued`,
    ]);
    await end('turns');
    assert.deepEqual((await states())[1], `${OCCURRENCES[1]} backfill Running`);
  });

  test('starts all at once if runs may overlap', async () => {
    await client.jobs.create(newJob('parallel', { overlap: 'allow' }));
    await client.jobs.backfill('parallel', RANGE);
    const runs = await client.jobs.history('parallel');
    assert.deepEqual(
      runs.map(({ state, workflow_id, id }) => [state, workflow_id === id]),
      [0, 1, 2].map(() => ['Running', true]),
    );
  });

  test('with a key starts once', async () => {
    await client.jobs.create(newJob('keyed'));
    const idempotencyKey = newId();
    const first = await client.jobs.backfill('keyed', { ...RANGE, idempotencyKey });
    assert.deepEqual(await client.jobs.backfill('keyed', { ...RANGE, idempotencyKey }), first);
    assert.equal((await client.jobs.history('keyed')).length, 3);
    const other = client.jobs.backfill('keyed', { ...RANGE, until: '2026-03-24', idempotencyKey });
    await assert.rejects(other, refused(422, /Idempotency-Key/));
  });

  test('rejects ranges that are empty, in the future, or too long, and dates that do not exist', async () => {
    await client.jobs.create(newJob('ranges', { cron: '* * * * *' }));
    const backfill = (since: string, until: string) => client.jobs.backfill('ranges', { since, until });
    await assert.rejects(backfill('2026-03-02', '2026-03-01'), refused(400, /until: is before since/));
    await assert.rejects(backfill('2026-03-01', '2026-03-29'), refused(400, /until: is in the future/));
    await assert.rejects(backfill('2026-03-01', '2026-03-02'), refused(400, /more than 1000 occurrences/));
    await assert.rejects(backfill('2026-02-31T25:00:00Z', '2026-03-02'), refused(400, /since: no such date/));
    await assert.rejects(backfill('yesterday', '2026-03-02'), refused(400, /since: must be a date/));
    await assert.rejects(client.jobs.backfill('nobody', RANGE), refused(404, /no job has the id or name/));
    await client.jobs.remove('ranges');
  });
});

describe('the calendar', () => {
  test('has what jobs started and will start, oldest first', async () => {
    await clock.advance(86_400_000);
    await startDueJobs(context, 100);
    const range = { since: '2026-03-28T00:00:00Z', until: '2026-03-31T00:00:00Z' };
    const { entries, left_out } = await client.jobs.calendar(range);
    assert.equal(left_out, 0);
    const ofDry = entries.filter(({ job_name }) => job_name === 'dry');
    // The clocks change on 29 March.
    assert.deepEqual(
      ofDry.map(({ at, type, state, run_id }) => [at, type, state, run_id !== null]),
      [
        ['2026-03-29T01:00:00.000Z', 'past', 'Running', true],
        ['2026-03-30T00:30:00.000Z', 'next', null, false],
      ],
    );
    const times = entries.map(({ at }) => at);
    assert.deepEqual(times, [...times].sort());
    assert.ok(entries.every(({ job_name }) => job_name !== 'turns'));
  });

  test('is bounded, and counts the rest', async () => {
    await client.jobs.create(newJob('minutely', { cron: '* * * * *', recurrence: 3000 }));
    const { entries, left_out } = await client.jobs.calendar({ since: '2026-03-29T13:00:00Z', until: '2026-05-01' });
    assert.equal(entries.length, 2000);
    assert.ok(left_out > 0);
    await client.jobs.remove('minutely');
    const twice = await client.jobs.create(newJob('twice', { cron: '0 * * * *', recurrence: 2 }));
    const next = await client.jobs.calendar({ since: '2026-03-29T13:00:00Z', until: '2026-04-01' });
    assert.equal(next.entries.filter(({ job_id }) => job_id === twice.id).length, 2);
  });

  test('rejects a range that is empty or too long', async () => {
    await assert.rejects(client.jobs.calendar({ since: '2026-02-02', until: '2026-02-01' }), refused(400, /until/));
    await assert.rejects(client.jobs.calendar({ since: '2020-01-01', until: '2026-02-01' }), refused(400, /400 days/));
  });
});

describe('a schedule that no job has yet', () => {
  test('shows its next occurrences, in its time zone', async () => {
    const next = await client.jobs.preview('30 2 28 3 *', { time_zone: 'Europe/Berlin', count: 2 });
    assert.deepEqual(next, [
      { at: '2027-03-28T01:00:00.000Z', local: '2027-03-28T03:00:00+02:00' },
      { at: '2028-03-28T00:30:00.000Z', local: '2028-03-28T02:30:00+02:00' },
    ]);
    assert.equal((await client.jobs.preview('@hourly')).length, 5);
  });

  test('is refused with the member that is wrong', async () => {
    await assert.rejects(client.jobs.preview('61 * * * *'), refused(400, /cron: .*61/));
    await assert.rejects(client.jobs.preview('0 0 30 2 *'), refused(400, /cron: names a day that never occurs/));
    await assert.rejects(client.jobs.preview('@daily', { time_zone: '+02:00' }), refused(400, /time_zone: /));
  });
});

test('a list of jobs has as many of their last runs as asked for', async () => {
  const { id } = await client.jobs.create(newJob('recent', { overlap: 'allow' }));
  await client.jobs.create(newJob('recent-without-runs'));
  for (let run = 0; run < 3; run += 1) {
    await client.jobs.trigger(id);
    await clock.advance(1000);
  }
  const recent = async (count?: number) => {
    const jobs = await client.jobs.list(count === undefined ? {} : { recent_runs: count });
    return jobs.filter(({ name }) => name.startsWith('recent')).map(({ recent_runs }) => recent_runs);
  };
  assert.deepEqual(await recent(), [[], []]);
  const [runs] = await recent(2);
  assert.deepEqual(runs, (await client.jobs.history(id)).slice(0, 2));
  assert.deepEqual(
    (await recent(20)).map(({ length }) => length),
    [3, 0],
  );
  await assert.rejects(client.jobs.list({ recent_runs: 21 }), /recent_runs/);
});
