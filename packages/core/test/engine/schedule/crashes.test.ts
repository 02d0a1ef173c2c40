import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { JobContext } from '../../../src/engine/schedule/context.ts';
import { finishJobRuns } from '../../../src/engine/schedule/finish-job-runs.ts';
import { createJobs } from '../../../src/engine/schedule/jobs.ts';
import { startDueJobs } from '../../../src/engine/schedule/start-due-jobs.ts';
import { seededRandom } from '@heddle/base/random';
import type { Database, Queryable } from '../../../src/store/database.ts';
import {
  MINUTE_MS,
  newJob,
  newJobBench,
  statesOf,
  told,
  type JobBench,
} from '@heddle/test-support/engine/schedule/fixture';

class Crash extends Error {}

/** A database on which a transaction ends before its statement of this number, counted from 1, as if its process died. */
function crashingBefore(database: Database, statement: number): Database {
  return {
    ...database,
    transaction: (run, options) =>
      database.transaction((tx) => {
        let ran = 0;
        const dying: Queryable = {
          query: (...query) => {
            ran += 1;
            return ran >= statement ? Promise.reject(new Crash()) : tx.query(...query);
          },
        };
        return run(dying);
      }, options),
  };
}

/** Runs the work with a crash before its first statement, its second, and so on until it comes through. */
async function crashEverywhere(
  { context, database }: JobBench,
  work: (context: JobContext) => Promise<unknown>,
  afterCrash: () => Promise<void>,
): Promise<number> {
  for (let statement = 1; ; statement += 1) {
    try {
      await work({ ...context, database: crashingBefore(database, statement) });
      return statement - 1;
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      await afterCrash();
    }
  }
}

test('a crash before any statement of a start leaves all as it was; then the occurrence starts once', async () => {
  const bench = await newJobBench();
  const { jobs, at, sent, history } = bench;
  const before = await jobs.create(newJob({ recurrence: 2 }));
  await at('2026-06-01T01:00:00Z');
  const crashes = await crashEverywhere(
    bench,
    (context) => startDueJobs(context, 10),
    async () => {
      assert.deepEqual(await jobs.get('nightly'), before);
      assert.deepEqual(await history('nightly'), []);
      assert.deepEqual(await sent(), []);
    },
  );
  assert.ok(crashes >= 5, `only ${crashes} statements were met`);
  assert.deepEqual(told(await history('nightly')), ['01:00 Running']);
  assert.equal((await sent()).length, 1);
  assert.equal((await jobs.get('nightly'))!.recurrence, 1);
});

test('a crash before any statement of an end leaves all as it was; then what waited starts once', async () => {
  const bench = await newJobBench();
  const { jobs, at, start, sent, history } = bench;
  await jobs.create(newJob({ overlap: 'queue' }));
  for (const hour of ['01', '02']) {
    await at(`2026-06-01T${hour}:00:00Z`);
    await start();
  }
  const before = await history('nightly');
  const [running] = statesOf(before, 'Running');
  const end = {
    workflow_id: running!.id,
    job_run_id: running!.id,
    root_state: 'succeeded' as const,
    ended_at: bench.clock.now(),
    counts: { succeeded: 1 },
  };
  const crashes = await crashEverywhere(
    bench,
    (context) => context.database.transaction((tx) => finishJobRuns(context, tx, [end])),
    async () => {
      assert.deepEqual(await history('nightly'), before);
      assert.equal((await sent()).length, 1);
    },
  );
  assert.ok(crashes >= 5, `only ${crashes} statements were met`);
  assert.deepEqual(told(await history('nightly')), ['01:00 Succeeded', '02:00 Running']);
  assert.equal((await sent()).length, 2);
});

const SEED = Number(process.env['HEDDLE_PROPERTY_SEED'] ?? 20_260_601);

for (const overlap of ['skip', 'queue', 'allow'] as const) {
  test(`three servers, random pauses, ends, triggers and crashes, overlap ${overlap}: every occurrence has one entry, runs keep the policy, each is sent once (seed ${SEED})`, async () => {
    const bench = await newJobBench();
    const { jobs, clock, context, database, history, finish, sent } = bench;
    const random = seededRandom(SEED);
    const { id } = await jobs.create(newJob({ overlap, cron: '* * * * *', catch_up: 'once', recurrence: 60 }));
    const crashed = (): JobContext => ({
      ...context,
      database: crashingBefore(database, 1 + Math.floor(random.next() * 9)),
    });
    const tolerant = (work: Promise<unknown>): Promise<unknown> =>
      work.catch((error: unknown) => {
        if (!(error instanceof Crash) && (error as { code?: string }).code !== 'CONFLICT') throw error;
      });
    const maybe = (probability: number, work: () => Promise<unknown>): Promise<unknown>[] =>
      random.next() < probability ? [tolerant(work())] : [];
    for (let minute = 0; minute < 80; minute += 1) {
      await clock.advance(MINUTE_MS);
      const running = statesOf(await history(id), 'Running');
      await Promise.all([
        ...maybe(0.9, () => startDueJobs(context, 10)),
        ...maybe(0.5, () => startDueJobs(context, 10)),
        ...maybe(0.5, () => startDueJobs(crashed(), 10)),
        ...maybe(0.6, () => finish(running)),
        ...maybe(0.3, () => finish(running)),
        ...maybe(0.2, () => jobs.trigger(id)),
        ...maybe(0.2, () => createJobs(crashed()).trigger(id)),
        ...maybe(0.1, () => jobs.pause(id)),
        ...maybe(0.3, () => jobs.resume(id)),
      ]);
      const open = await history(id);
      if (overlap !== 'allow') assert.ok(statesOf(open, 'Running').length <= 1, told(open).join());
      assert.ok(statesOf(open, 'Queued').length <= (overlap === 'queue' ? 1 : 0), told(open).join());
    }
    await jobs.pause(id);
    await jobs.resume(id);
    for (let round = 0; round < 3; round += 1) await finish(statesOf(await history(id), 'Running'));
    const runs = await history(id);
    assert.deepEqual(
      runs.filter((run) => run.completed_at === null),
      [],
      'a run waits for no one',
    );
    const scheduled = runs.filter((run) => run.trigger === 'schedule');
    assert.equal(new Set(scheduled.map((run) => run.scheduled_for)).size, scheduled.length);
    const started = runs.filter((run) => run.workflow_id !== null);
    assert.deepEqual((await sent()).map((message) => message.job_run_id).sort(), started.map((run) => run.id).sort());
    const used = scheduled.filter((run) => run.workflow_id !== null).length;
    assert.equal((await jobs.get(id))!.recurrence, 60 - used);
    assert.ok(used > 10, `only ${used} runs were started: this test would prove nothing`);
  });
}
