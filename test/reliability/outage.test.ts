import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { newId, seededRandom } from '@heddle/base/random';
import { migrate } from '@heddle/core/store/migrate';
import type { Database } from '@heddle/core/store/database';
import { eventually } from '@heddle/test-support/eventually';
import { openTestDatabase, startTestServer, type TestServer } from '@heddle/test-support/postgres';
import { auditedTasks, assertSlotsAddUp, leftovers } from '../support/reliability/audit.ts';
import { PersistentCaller, type Answer, type Call } from '../support/reliability/callers.ts';
import { ServerFleet } from '../support/reliability/fleet.ts';
import { WorkTarget } from '../support/reliability/work-target.ts';
import { makeWorkload } from '../support/reliability/workload.ts';

/** Away for about this long, so that the breaker has opened and was probed without effect. */
const AWAY_MS = 2_500;
const BATCH_TASKS = 10;
const BATCH_PAUSE_MS = 40;

/** Single calls of every kind, each with an id that exists nowhere. */
const CALLS: Readonly<Record<string, Call>> = {
  submit: { method: 'POST', path: '/task', body: [{ name: 'while it is away', kind: 'plain' }] },
  read: { method: 'GET', path: `/task/${newId()}` },
  list: { method: 'GET', path: '/task' },
  dag: { method: 'GET', path: `/dag/${newId()}` },
  count: { method: 'PUT', path: `/task/${newId()}`, body: { new_success: 1 } },
  finish: { method: 'PATCH', path: `/task/${newId()}`, body: { status: 'Success' } },
  pause: { method: 'PATCH', path: `/task/pause/${newId()}` },
  cancel: { method: 'DELETE', path: `/task/${newId()}` },
};

function assertUnavailable({ status, headers, body }: Answer, what: string): void {
  assert.equal(status, 503, `${what}: ${JSON.stringify(body)}`);
  assert.match(String(headers['content-type']), /^application\/problem\+json/, what);
  assert.equal((body as { code: string }).code, 'DATABASE_UNAVAILABLE', what);
  assert.match(String(headers['retry-after']), /^[1-9]\d*$/, what);
}

describe('PostgreSQL goes away during load and comes back', () => {
  let postgres: TestServer;
  let database: Database;
  let fleet: ServerFleet;
  let caller: PersistentCaller;
  let target: WorkTarget;
  let url: string;
  let pids: number[];
  /** Tasks that a 201 named. */
  const acknowledged = new Set<string>();
  let refused = 0;
  const loading = new AbortController();
  let load: Promise<void>;

  before(async () => {
    postgres = await startTestServer();
    await migrate({ url: postgres.url });
    database = openTestDatabase(postgres.url);
    fleet = new ServerFleet(postgres.url, 1, {
      POOL_TIMEOUT_SECS: '2',
      POOL_ACQUIRE_RETRIES: '1',
      CIRCUIT_BREAKER_FAILURE_THRESHOLD: '3',
      // Without effect: the breaker closes as soon as the database can be reached.
      CIRCUIT_BREAKER_RECOVERY_TIMEOUT_SECS: '3600',
    });
    await fleet.start(0);
    url = fleet.urls[0]!;
    pids = fleet.pids;
    caller = new PersistentCaller(() => fleet.anyUrl());
    target = new WorkTarget(caller);
    load = submitUntilStopped(await target.listen());
  });

  after(async () => {
    loading.abort();
    await load.catch(() => undefined);
    await fleet.stop();
    await target.close();
    await caller.close();
    await database.close();
    await postgres.stop();
  });

  /** Does not repeat submissions: those answered 503 are abandoned, those answered 201 must complete. */
  async function submitUntilStopped(targetUrl: string): Promise<void> {
    const random = seededRandom(7);
    while (!loading.signal.aborted) {
      const { batches } = makeWorkload(1, BATCH_TASKS, targetUrl, random);
      const headers = { prefer: 'return=minimal' };
      const answer = await caller.once(url, { method: 'POST', path: '/task', body: batches[0], headers });
      if (answer.status === 201) {
        for (const { id } of answer.body as { id: string }[]) acknowledged.add(id);
      } else {
        assertUnavailable(answer, 'a submission');
        refused += 1;
      }
      await sleep(BATCH_PAUSE_MS);
    }
  }

  async function metric(name: string): Promise<number> {
    const { body } = await caller.once(url, { method: 'GET', path: '/metrics' });
    const line = String(body)
      .split('\n')
      .find((each) => each.startsWith(`${name} `));
    return Number(line?.split(' ').at(-1) ?? 0);
  }

  const transitionsTo = (state: string): Promise<number> =>
    metric(`circuit_breaker_state_transitions_total{to_state="${state}"}`);

  /** Every kind of call is refused as it should be, over and over for this long. */
  async function assertAway(ms: number): Promise<void> {
    const until = performance.now() + ms;
    while (performance.now() < until) {
      for (const [what, call] of Object.entries(CALLS)) assertUnavailable(await caller.once(url, call), what);
      for (const path of ['/health', '/ready']) {
        const { status } = await caller.once(url, { method: 'GET', path });
        assert.equal(status, 503, path);
      }
      await sleep(BATCH_PAUSE_MS);
    }
  }

  /** Work goes on: tasks that are submitted now come to completion. */
  async function assertWorkGoesOn(): Promise<void> {
    const before = acknowledged.size;
    await eventually(() => acknowledged.size >= before + 5 * BATCH_TASKS, 'submissions are taken again');
    const runs = target.runs.size;
    await eventually(() => target.runs.size >= runs + BATCH_TASKS, 'tasks are started again');
    // A breaker that opened late closes again by itself.
    const healthy = async (): Promise<boolean> =>
      (await caller.once(url, { method: 'GET', path: '/health' })).status === 200;
    await eventually(healthy, 'the server calls itself healthy');
    assert.deepEqual(fleet.pids, pids, 'by the same process');
  }

  it('works before', async () => {
    await eventually(() => target.runs.size >= 3 * BATCH_TASKS, 'tasks run');
    assert.equal(await transitionsTo('open'), 0);
  });

  it('answers 503 while PostgreSQL is stopped, and goes on after', async () => {
    await postgres.halt();
    await assertAway(AWAY_MS);
    assert.ok((await transitionsTo('open')) >= 1, 'the breaker opened');
    assert.ok((await metric('circuit_breaker_rejections_total')) >= 1, 'the breaker refused');
    assert.ok(refused > 0, 'the load met the outage');
    await postgres.start();
    await eventually(async () => (await transitionsTo('closed')) >= 1, 'the breaker closes');
    await assertWorkGoesOn();
  });

  it('goes on after PostgreSQL was killed', async () => {
    const before = { open: await transitionsTo('open'), closed: await transitionsTo('closed') };
    const { pid } = postgres.server;
    process.kill(pid, 'SIGKILL');
    // Its supervisor starts it again; the test does nothing.
    await eventually(() => postgres.server.pid !== 0 && postgres.server.pid !== pid, 'PostgreSQL runs again');
    await eventually(
      async () => (await caller.once(url, { method: 'GET', path: '/ready' })).status === 200,
      'the server is ready',
      30_000,
    );
    await assertWorkGoesOn();
    // Short as the outage was, the breaker may not have noticed; if it did, it has closed again.
    const noticed = (await transitionsTo('open')) > before.open;
    assert.equal((await transitionsTo('closed')) > before.closed, noticed);
  });

  it('lost nothing that it had acknowledged', async (t) => {
    loading.abort();
    await load;
    let left: string[] = [];
    await eventually(
      async () => {
        left = await leftovers(database);
        return left.length === 0;
      },
      'all tasks ended and all webhooks taken',
      90_000,
    ).catch((error: unknown) => assert.fail(`${String(error)}; left: ${left.join(', ')}`));
    const tasks = await auditedTasks(database);
    const stored = new Map(tasks.map((task) => [task.id, task]));
    assert.deepEqual(
      [...acknowledged].filter((id) => !stored.has(id)),
      [],
    );
    assert.deepEqual(target.refusals, []);
    // What the target received with 202 and 200: every unit once, every end.
    for (const run of target.runs.values()) {
      const task = stored.get(run.task_id)!;
      assert.equal(task.success_count, task.attempt * run.plan.units, `units of ${task.id}`);
    }
    const told = new Set(target.ends.map(({ task_id }) => task_id));
    assert.deepEqual(
      tasks.filter(({ id }) => !told.has(id)).map(({ id }) => id),
      [],
    );
    await assertSlotsAddUp(database);
    t.diagnostic(`${tasks.length} tasks, ${acknowledged.size} acknowledged, ${refused} submissions refused`);
    t.diagnostic(`${caller.repeats} reports repeated, ${target.repeatedStarts} starts came again`);
  });
});
