/** What Home and its neighbours read of a large store: no table as a whole, and numbers up to their bounds. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { systemClock } from '@heddle/base/clock';
import { createOverview } from '@heddle/core/engine/overview/overview';
import { createRuns } from '@heddle/core/engine/runs/runs';
import type { HomeDto } from 'heddle/internal/http/wire/home';
import { newBench, type Bench } from '@heddle/test-support/engine/fixture';
import { createTestServer, type TestServer } from '@heddle/test-support/http/server';
import { eventually } from '@heddle/test-support/eventually';

let bench: Bench;
let server: TestServer;

const run = (text: string, values: unknown[] = []) =>
  bench.database.query<{ n: number }>({ name: `scans ${text.replace(/\s+/g, ' ').slice(0, 50)}`, text }, values);

before(async () => {
  bench = await newBench();
  const { engine, database } = bench;
  const overview = createOverview({ database, clock: systemClock });
  server = await createTestServer({ engine, database, runs: createRuns(database), overview });
  await fill();
});

after(async () => {
  await server.app.close();
  await bench.engine.close();
});

/** With HEDDLE_TEST_LONG=1: 1,000,000 tasks of 10,000 runs, 200,000 ready ones, 100,000 failures, 1,000 full slots. */
const IS_LONG = process.env['HEDDLE_TEST_LONG'] === '1';
const RUNS = IS_LONG ? 10_000 : 300;
const TASKS = 100;
const OPEN_RUNS = Math.floor(RUNS / 3);
const READY_EACH = 60;
const FAILED_EACH = IS_LONG ? 15 : 60;
const SLOTS = IS_LONG ? 1_000 : 100;
/** Parts of the tasks, each inserted by a statement. */
const PARTS = IS_LONG ? 20 : 1;

/** A third of the runs is open, with ready and waiting tasks; the others have ended, some of their tasks failed. */
async function fill(): Promise<void> {
  await run(`insert into kind (name) select 'kind ' || n from generate_series(1, 10) n`);
  await run(`create table runs as select n, gen_random_uuid() as id from generate_series(1, ${RUNS}) n`);
  await run(`insert into workflow (id, name, linked, task_count, remaining, created_at, ended_at)
    select id, 'run ' || n, false, ${TASKS}, case when n % 3 = 0 then ${TASKS} else 0 end, now(),
      case when n % 3 <> 0 then now() end from runs`);
  for (let part = 0; part < PARTS; part += 1) await fillTasks(part);
  // The first failed task of a run holds up the others.
  await run(`insert into edge (parent_id, child_id, requires_success, crosses, relayed)
    select f.id, t.id, false, false, false
    from (select distinct on (workflow_id) workflow_id, task_id as id from failure order by 1, 2) f
    join task t on t.workflow_id = f.workflow_id where t.id <> f.id`);
  await run(`insert into shape (kind_id, type, fields) values (1, 1, '{tenant}')`);
  await run(`insert into slot (id, shape_id, key, used)
    select 2 * n, (select max(id) from shape), jsonb_build_array(n), 1 from generate_series(1, ${SLOTS}) n`);
  await run(`insert into blocked (slot_id, rank, task_id, lane, max, sole)
    select 2 * (1 + row_number() over () % ${SLOTS}), 0, task_id, lane, 1, true from ready where lane = 1`);
  await run(`delete from ready where lane = 1`);
  await run(`insert into delivery (id, task_id, workflow_id, attempt, trigger, ordinal, origin, action, idempotency_key,
      state, next_try_at, tries, last_error, created_at)
    select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 1, 'success', 0, 'https://h' || n % 5,
      '{"trigger": "success", "origin": "x", "params": {"url": "https://h", "verb": "Post"}}', 'k',
      case n % 3 when 0 then 'dead' when 1 then 'due' else 'delivered' end, case when n % 3 = 1 then now() end, 4, 'no', now()
    from generate_series(1, 10000) n`);
  await run('analyze');
}

async function fillTasks(part: number): Promise<void> {
  await run(
    `insert into task (id, workflow_id, kind_id, state, attempt, timeout_secs, open_gates, created_at, updated_at,
      ended_at, name, reason, metadata)
    select gen_random_uuid(), r.id, 1 + (i + r.n) % 10, s.state, (s.state >= 10)::integer, 60, (s.state = 0)::integer, now(), now(),
      case when s.state >= 10 then now() - i * interval '1 second' end, 'task ' || i,
      case when s.state = 11 then 'order ' || r.n || ': connect ECONNREFUSED 10.0.0.12:5432' end, '{}'
    from runs r cross join generate_series(1, ${TASKS}) i
    cross join lateral (select case when r.n % 3 = 0 then (i <= ${READY_EACH})::integer
      when i <= ${FAILED_EACH} then 11 else 10 end as state) s
    where r.n % ${PARTS} = $1`,
    [part],
  );
  await run(
    `select record_failures(array(select t.id from task t join runs r on r.id = t.workflow_id
      where r.n % ${PARTS} = $1 and t.state = 11))`,
    [part],
  );
  await run(
    `insert into ready (lane, rank, task_id) select t.kind_id, 0, t.id from task t join runs r on r.id = t.workflow_id
      where r.n % ${PARTS} = $1 and t.state = 1`,
    [part],
  );
}

async function rowsScanned(): Promise<number> {
  await Promise.all(Array.from({ length: 10 }, () => run('select 1 as n from pg_stat_force_next_flush()')));
  const [row] = await run(`select coalesce(sum(seq_tup_read), 0)::bigint as n from pg_stat_user_tables
    where relname in ('task', 'workflow', 'failure', 'ready', 'blocked', 'delivery', 'edge', 'task_attempt', 'queue_dead')`);
  return row!.n;
}

/** Printed beside the time of a trivial statement, which shows how busy the machine is. */
async function medianMs(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < 9; round += 1) {
    const begun = performance.now();
    await work();
    times.push(performance.now() - begun);
  }
  return Math.round(times.sort((left, right) => left - right)[4]! * 10) / 10;
}

test('no large table is read as a whole', async (t) => {
  const [failed] = await bench.database.query<{ id: string }>({
    name: 'scans failed',
    text: 'select parent_id as id from edge limit 1',
  });
  // The statistics of what filled the tables arrive late.
  let before = -1;
  await eventually(async () => {
    const last = before;
    before = await rowsScanned();
    return last === before;
  }, 'the statistics of all connections have arrived');
  const home = (await server.app.inject('/v1/home')).json<HomeDto>();
  const [group] = home.failing;
  const urls = [
    `/v1/runs?fingerprint=${group!.fingerprint}`,
    `/v1/tasks/${failed!.id}/explain`,
    '/v1/workers',
    '/v1/queues',
    '/v1/slots',
    `/v1/failures?fingerprint=${group!.fingerprint}`,
    '/v1/webhooks',
    '/v1/webhooks?state=dead',
  ];
  for (const url of urls) assert.equal((await server.app.inject(url)).statusCode, 200, url);
  assert.equal((await rowsScanned()) - before, 0);
  // Answers of Home are kept for a moment: a new overview computes one.
  const overview = () => createOverview({ database: bench.database, clock: systemClock });
  const times = [
    `"select 1": ${await medianMs(() => run('select 1 as n'))} ms`,
    `Home: ${await medianMs(() => overview().home())} ms`,
  ];
  for (const url of urls.slice(0, 2)) {
    times.push(`${url}: ${await medianMs(() => server.app.inject(url))} ms`);
  }
  t.diagnostic(`${RUNS * TASKS} tasks; ${times.join('; ')}`);

  assert.deepEqual(home.now.failed_last_day, { n: 10_000, n_capped: true });
  assert.equal(home.failing.length, 10);
  assert.deepEqual([group!.tasks_capped, group!.pattern], [true, 'order …: connect ECONNREFUSED 10.0.0.12:…']);
  const capped = (n: number) => ({ n: Math.min(n, 10_000), n_capped: n > 10_000 });
  assert.deepEqual(home.open_runs, capped(OPEN_RUNS));
  // A tenth of the ready tasks waits for a rule.
  const ready = OPEN_RUNS * READY_EACH * 0.9;
  assert.deepEqual(home.now.ready, capped(ready));
  assert.deepEqual(home.now.waiting, capped(OPEN_RUNS * TASKS - ready));
  assert.equal(home.attention.filter(({ type }) => type === 'no_worker').length, 9);
  assert.equal(home.waiting.filter(({ type }) => type === 'rule').length, 20);
});
