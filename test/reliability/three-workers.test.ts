import { join } from 'node:path';
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { createEngine } from '@heddle/core/engine/engine';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId, seededRandom, systemRandom } from '@heddle/base/random';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase, type TestDatabase } from '@heddle/test-support/postgres';
import { auditedTasks, leftovers, Sampler, type AuditedTask } from '../support/reliability/audit.ts';
import { groupBy, peakOf } from '../support/reliability/intervals.ts';
import { startChild, type Child } from '@heddle/test-support/reliability/processes';
import { now } from '../support/reliability/work-target.ts';
import { makeWorkerTasks, WORKER_LIMITS, WORKER_TIMEOUT_SECS } from '../support/reliability/worker-load.ts';

const SEED = Number(process.env['HEDDLE_TEST_SEED'] ?? Date.now() % 1_000_000);
const WORKERS = 3;
const TASKS = 1_000;
const KILLS = 8;

/** One execution, as the worker told it. Where the worker was killed before its end, `to` is when the kill was sent. */
interface Execution {
  task_id: string;
  attempt: number;
  from: number;
  to: number;
  killed: boolean;
}

describe(`three workers, killed at random (HEDDLE_TEST_SEED=${SEED})`, () => {
  const random = seededRandom(SEED);
  let test: TestDatabase;
  const workers: Child[] = [];
  const killedAt = new Map<Child, number>();
  const all: Child[] = [];
  let tasks: AuditedTask[];
  let executions: Execution[];

  before(async () => {
    test = await createTestDatabase();
  });

  async function start(place: number): Promise<void> {
    const child = startChild(join(import.meta.dirname, '../support/reliability/worker-process.ts'), [test.url]);
    all.push(child);
    workers[place] = child;
    await child.told('ready');
  }

  /** Each kill meets fresh work. */
  async function killAndRestart(submit: () => Promise<unknown>): Promise<void> {
    for (let kill = 0; kill < KILLS; kill += 1) {
      await submit();
      await sleep(50 + random.next() * 400);
      const place = Math.floor(random.next() * WORKERS);
      const victim = workers[place]!;
      killedAt.set(victim, now());
      await victim.kill();
      await start(place);
    }
  }

  it('ends everything, and leaves nothing behind', async (t) => {
    const common = { database: test.database, clock: systemClock, log: silentLogger };
    const engine = createEngine({ ...common, random: systemRandom });
    const submit = (): Promise<unknown> =>
      engine.submit([
        {
          workflow_id: newId(),
          name: null,
          tasks: makeWorkerTasks(TASKS / KILLS, random),
          traceparent: null,
          idempotency: null,
        },
      ]);
    const sampler = new Sampler(test.database, (open) => {
      const ruled = open.filter(({ kind }) => kind === 'ruled');
      assert.ok(ruled.length <= WORKER_LIMITS.all, `${ruled.length} are open`);
      for (const [tenant, group] of groupBy(ruled, (attempt) => attempt.tenant)) {
        assert.ok(group.length <= WORKER_LIMITS.tenant, `${group.length} of tenant ${tenant} are open`);
      }
    });
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: WORKERS }, (_, place) => start(place)));
    await killAndRestart(submit);
    t.diagnostic(`${KILLS} kills: ${Math.round(performance.now() - startedAt)} ms`);
    let left: string[] = [];
    await eventually(
      async () => {
        sampler.rethrow();
        left = await leftovers(test.database);
        return left.length === 0;
      },
      'all tasks ended',
      90_000,
    ).catch((error: unknown) => assert.fail(`${String(error)}; left: ${left.join(', ')}`));
    await sampler.stop();
    await engine.close();
    await Promise.all(workers.map((worker) => worker.kill()));
    tasks = await auditedTasks(test.database);
    executions = all.flatMap(executionsOf);
    const lost = executions.filter(({ killed }) => killed).length;
    t.diagnostic(`all ended: ${Math.round(performance.now() - startedAt)} ms, ${lost} executions were killed`);
    t.diagnostic(`${sampler.samples} looks at the slots, at most ${sampler.openMax} attempts open at once`);
    assert.ok(lost > 0, 'kills met work');
  });

  function executionsOf(child: Child): Execution[] {
    const told = groupBy(child.lines, ({ event, task_id, attempt }) =>
      event === 'began' || event === 'ended' ? `${String(task_id)}/${String(attempt)}` : null,
    );
    return [...told.values()].map((lines) => {
      assert.deepEqual(
        lines.map(({ event }) => event),
        lines.length === 1 ? ['began'] : ['began', 'ended'],
        'a worker runs an attempt once',
      );
      const { task_id, attempt, at } = lines[0]! as unknown as { task_id: string; attempt: number; at: number };
      const end = lines[1]?.['at'] as number | undefined;
      const killed = killedAt.get(child);
      if (end === undefined) assert.notEqual(killed, undefined, 'only a kill leaves work without an end');
      return { task_id, attempt, from: at, to: end ?? killed!, killed: end === undefined };
    });
  }

  it('brought every task to success, each attempt run by one worker', () => {
    assert.equal(tasks.length, TASKS);
    assert.deepEqual(
      tasks.filter(({ state }) => state !== 'succeeded').map(({ id, state }) => `${id} ${state}`),
      [],
    );
    const runs = groupBy(executions, ({ task_id, attempt }) => `${task_id}/${attempt}`);
    for (const [what, group] of runs) assert.equal(group.length, 1, `attempt ${what} ran ${group.length} times`);
    for (const task of tasks) assert.ok(runs.has(`${task.id}/${task.attempt}`), `${task.id} ended by its last attempt`);
  });

  it('gave the tasks of killed workers back by their deadline, as the next attempt', () => {
    const taskOf = new Map(tasks.map((task) => [task.id, task]));
    const attempts = new Map(executions.map((each) => [`${each.task_id}/${each.attempt}`, each]));
    for (const { task_id, attempt, from, killed } of executions) {
      if (!killed) continue;
      const task = taskOf.get(task_id)!;
      const next = attempts.get(`${task_id}/${attempt + 1}`);
      // Its report may have been under way to the database when its worker died, told or not.
      if (task.attempt === attempt) continue;
      if (next === undefined) continue; // the next attempt was claimed by a worker that died before it began
      assert.ok(next.from >= from, task_id);
      const waited = next.from - from;
      assert.ok(waited > (WORKER_TIMEOUT_SECS - 1) * 1000, `${task_id} came back after ${waited} ms`);
    }
  });

  it('exceeded no rule, as the workers saw it', () => {
    const taskOf = new Map(tasks.map((task) => [task.id, task]));
    const ruled = executions
      .map((each) => ({ ...each, amount: 1, what: each.task_id, task: taskOf.get(each.task_id)! }))
      .filter(({ task }) => task.kind === 'ruled');
    assert.ok(peakOf(ruled).peak <= WORKER_LIMITS.all, `${peakOf(ruled).peak} at once`);
    for (const [tenant, group] of groupBy(ruled, ({ task }) => task.tenant)) {
      assert.ok(peakOf(group).peak <= WORKER_LIMITS.tenant, `${peakOf(group).peak} of ${tenant} at once`);
    }
  });
});
