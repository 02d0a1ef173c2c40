import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { seededRandom } from '@heddle/base/random';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase, type TestDatabase } from '@heddle/test-support/postgres';
import { auditedTasks, leftovers, Sampler, type AuditedTask, type OpenAttempt } from '../support/reliability/audit.ts';
import { PersistentCaller } from '../support/reliability/callers.ts';
import { ServerFleet } from '../support/reliability/fleet.ts';
import { groupBy, peakOf, type Interval } from '../support/reliability/intervals.ts';
import { WorkTarget, type Run } from '../support/reliability/work-target.ts';
import { LIMITS, makeWorkload, type Expected, type Workload } from '../support/reliability/workload.ts';

const SEED = Number(process.env['HEDDLE_TEST_SEED'] ?? Date.now() % 1_000_000);
const SERVERS = 3;
const LONG = process.env['HEDDLE_TEST_LONG'] === '1';
const BATCHES = LONG ? 20 : 10;
const TASKS_PER_BATCH = LONG ? 100 : 40;
const KILLS = LONG ? 9 : 4;
const ALL_DONE_MS = 240_000;

/** Limits as functions of what is open: every task of these kinds carries its kind's rules. */
function assertWithinLimits(open: readonly OpenAttempt[]): void {
  const renders = open.filter(({ kind }) => kind === 'render');
  const encodes = open.filter(({ kind }) => kind === 'encode');
  assert.ok(renders.length <= LIMITS.render.all, `${renders.length} renders are open`);
  assert.ok(encodes.length <= LIMITS.encode.all, `${encodes.length} encodes are open`);
  for (const [tenant, group] of groupBy(renders, (attempt) => attempt.tenant)) {
    assert.ok(group.length <= LIMITS.render.tenant, `${group.length} renders of tenant ${tenant} are open`);
  }
  for (const [tenant, group] of groupBy(encodes, (attempt) => attempt.tenant)) {
    // The one admitted last met less than the limit among the others, whose work has only shrunk since.
    const amounts = group.map(({ remaining }) => remaining);
    const others = amounts.reduce((sum, each) => sum + each, 0) - Math.max(...amounts);
    assert.ok(others < LIMITS.encode.tenantCapacity, `${amounts.join('+')} units of tenant ${tenant} are open`);
  }
}

describe(`three servers on one database, killed at random (HEDDLE_TEST_SEED=${SEED})`, () => {
  const random = seededRandom(SEED);
  let test: TestDatabase;
  let fleet: ServerFleet;
  let caller: PersistentCaller;
  let target: WorkTarget;
  let workload: Workload;
  let tasks: AuditedTask[];
  const batchOf = new Map<string, number>();
  const expectedOf = (task: AuditedTask): Expected =>
    workload.expected.get(`${batchOf.get(task.workflow_id)}/${task.local_id}`)!;

  before(async () => {
    test = await createTestDatabase();
    fleet = new ServerFleet(test.url, SEED);
    caller = new PersistentCaller(() => fleet.anyUrl());
    target = new WorkTarget(caller);
    workload = makeWorkload(BATCHES, TASKS_PER_BATCH, await target.listen(), random);
    await Promise.all(Array.from({ length: SERVERS }, (_, place) => fleet.start(place)));
  });

  after(async () => {
    await fleet.stop();
    await target.close();
    await caller.close();
  });

  async function submit(batch: number): Promise<void> {
    const headers = { 'idempotency-key': `batch-${batch}`, prefer: 'return=minimal' };
    const answer = await caller.call({ method: 'POST', path: '/task', body: workload.batches[batch], headers });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    batchOf.set(String(answer.headers['x-batch-id']), batch);
  }

  /** Each kill meets fresh work, and some of them a submission. */
  async function submitAndKill(): Promise<void> {
    let batch = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const submitted = Promise.all([submit(batch), submit(batch + 1)]);
      batch += 2;
      await sleep(random.next() * 800);
      const place = Math.floor(random.next() * SERVERS);
      // Sometimes another one dies while the first is away.
      const places = random.next() < 0.3 ? [place, (place + 1) % SERVERS] : [place];
      await Promise.all(places.map((each) => fleet.kill(each)));
      await Promise.all([submitted, ...places.map((each) => fleet.start(each))]);
    }
    while (batch < BATCHES) await submit(batch++);
  }

  it('ends everything, and leaves nothing behind', async (t) => {
    const sampler = new Sampler(test.database, assertWithinLimits);
    const startedAt = performance.now();
    await submitAndKill();
    t.diagnostic(`submitted, ${fleet.kills} kills: ${Math.round(performance.now() - startedAt)} ms`);
    let left: string[] = [];
    await eventually(
      async () => {
        sampler.rethrow();
        left = await leftovers(test.database);
        return left.length === 0;
      },
      'all tasks ended and all webhooks taken',
      ALL_DONE_MS,
    ).catch((error: unknown) => assert.fail(`${String(error)}; left: ${left.join(', ')}`));
    await sampler.stop();
    tasks = await auditedTasks(test.database);
    t.diagnostic(`all ended: ${Math.round(performance.now() - startedAt)} ms, ${caller.repeats} calls repeated`);
    t.diagnostic(`${target.runs.size} attempts, ${target.repeatedStarts} starts came again`);
    t.diagnostic(`${sampler.samples} looks at the slots, at most ${sampler.openMax} attempts open at once`);
    assert.ok(sampler.samples > 50 && sampler.openMax > 10, 'the samples met the system at work');
    assert.deepEqual(target.refusals, []);
  });

  it('stored every acknowledged submission once', () => {
    assert.equal(batchOf.size, BATCHES);
    assert.equal(tasks.length, BATCHES * TASKS_PER_BATCH);
    assert.deepEqual(new Set(tasks.map(({ workflow_id }) => workflow_id)), new Set(batchOf.keys()));
  });

  it('ended every task once, as its plan and its parents say', () => {
    for (const task of tasks) {
      const { state, attempts, units } = expectedOf(task);
      assert.deepEqual(
        { state: task.state, attempts: task.attempt, units: task.success_count },
        { state, attempts, units },
        `task ${task.local_id} of batch ${batchOf.get(task.workflow_id)} (${task.id})`,
      );
      assert.notEqual(task.ended_at, null);
    }
  });

  it('ran no attempt twice, and no two attempts of a task at once', () => {
    const runs = groupBy([...target.runs.values()], (run) => run.task_id);
    for (const task of tasks) {
      const own = (runs.get(task.id) ?? []).sort((a, b) => a.attempt - b.attempt);
      const numbers = own.map(({ attempt }) => attempt);
      assert.deepEqual(
        numbers,
        Array.from({ length: task.attempt }, (_, index) => index + 1),
        task.id,
      );
      own.slice(1).forEach((run, index) => assert.ok(run.started_at >= own[index]!.ended_at, task.id));
    }
  });

  it('exceeded no rule, as the target and the database saw it', () => {
    const runs = [...target.runs.values()];
    const seen = {
      target: runs.map((run) => ({ ...run, kind: run.plan.kind, tenant: run.plan.tenant })),
      database: tasks
        .filter((task) => task.started_at !== null)
        .map((task) => ({ ...task, started_at: task.started_at!, ended_at: task.ended_at!, task_id: task.id })),
    };
    for (const [who, held] of Object.entries(seen)) {
      for (const kind of ['render', 'encode'] as const) {
        const intervals = held.filter((each) => each.kind === kind).map((each) => interval(each, 1));
        assertPeak(intervals, LIMITS[kind].all, `${kind} by the ${who}`);
      }
      const renders = held.filter((each) => each.kind === 'render');
      for (const [tenant, group] of groupBy(renders, (each) => each.tenant)) {
        assertPeak(
          group.map((each) => interval(each, 1)),
          LIMITS.render.tenant,
          `render of ${tenant} by the ${who}`,
        );
      }
    }
  });

  it('admitted no work beyond the capacity', () => {
    const encodes = [...target.runs.values()].filter(({ plan }) => plan.kind === 'encode');
    for (const [tenant, group] of groupBy(encodes, (run) => run.plan.tenant)) {
      for (const run of group) {
        // All that were open when this one's start arrived, itself included.
        const open = group.filter((other) => other.ended_at >= run.started_at && other.started_at <= run.started_at);
        const amounts = open.map((other) => remainingAt(other, run.started_at));
        const sum = amounts.reduce((total, each) => total + each, 0);
        const largest = Math.max(0, ...amounts);
        assert.ok(sum - largest < LIMITS.encode.tenantCapacity, `${amounts.join('+')} units of ${tenant} were open`);
      }
    }
  });

  it('delivered every end webhook, each under one key', () => {
    const ends = groupBy(target.ends, (end) => end.task_id);
    for (const task of tasks) {
      const outcome = task.state === 'succeeded' ? 'success' : 'failure';
      const suffix = task.attempt > 1 ? `:attempt-${task.attempt}` : '';
      const seen = ends.get(task.id) ?? [];
      assert.deepEqual([...new Set(seen.map(({ key }) => key))], [`${task.id}:end:${outcome}${suffix}`]);
      assert.ok(seen.every(({ trigger }) => trigger === outcome));
    }
    assert.equal(ends.size, tasks.length, 'nothing else was sent');
  });
});

function interval(held: { started_at: number; ended_at: number; task_id: string }, amount: number): Interval {
  return { from: held.started_at, to: held.ended_at, amount, what: held.task_id };
}

function assertPeak(intervals: readonly Interval[], limit: number, what: string): void {
  const { peak, at } = peakOf(intervals);
  assert.ok(peak <= limit, `${what}: ${peak} at ${at}, the limit is ${limit}`);
}

/** At least this much of a run's work was left at a moment: units count when they were first sent. */
function remainingAt(run: Run, at: number): number {
  const sent = run.counted.filter((each) => each.at <= at).reduce((sum, { units }) => sum + units, 0);
  // Units of earlier attempts are counted too, and expected only once.
  return Math.max(0, run.plan.units * (2 - run.attempt) - sent);
}
