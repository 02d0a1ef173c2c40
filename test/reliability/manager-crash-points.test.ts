import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { ManagerLoop } from '../../src/app/manager-loop.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/log.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { benchOn, type Bench } from '../engine/manager/fixture.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import type { CrashPoint } from './crashing-database.ts';
import { assertClean, hasEnded } from './manager-verdict.ts';
import { ManagerWorld } from './manager-world.ts';
import { MortalDatabase } from './mortal-database.ts';

const LANES = 4;
const DRIVE_MS = 60_000;
/** What a manager held that died comes back after this, ms. */
const VISIBILITY_MS = 150;
const INTERVAL_MS = 100;

/**
 * Where the manager dies: the calls of each statement that a run cannot do without, the first being 1. `commit` is the
 * end of any transaction.
 */
const CRASH_CALLS: Readonly<Record<string, readonly number[]>> = {
  'queues.receive': [1, 2, 4],
  'inbox.remember': [1, 2, 4],
  // Steps 2 to 4: what time ends, workflows, nodes.
  'tasks.promote_delayed': [2],
  'tasks.sweep_leases': [2],
  'trees.insert_workflows': [1],
  'trees.place_nodes': [1],
  'trees.store_nodes': [1, 2],
  // Step 5: presence, signs of life, ends, results.
  'claimers.workers_seen': [1],
  'tasks.heartbeat': [1, 2],
  'tasks.find_roots': [1],
  'tasks.settle': [1, 2, 4],
  'tasks.save_results': [1],
  // Steps 6 and 7.
  'trees.complete_generators': [2, 4],
  'trees.reevaluate': [1, 3],
  'kinds.dispatchable': [2],
  'tasks.dispatch': [1, 2, 4],
  'queues.send_and_notify': [1, 3],
  // Steps 8 and 9.
  'finalization.take': [1],
  'finalization.find_job_run_ends': [1],
  'job_history.finish': [1],
  'finalization.delete': [1, 2],
  'jobs.lock_due': [1],
  'job_history.insert': [1],
  'jobs.advance': [1],
  // What the queue is told.
  'queues.delete': [1, 2, 4],
  'queues.bury': [1],
  commit: [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20],
};

const points = Object.entries(CRASH_CALLS).flatMap(([statement, calls]) =>
  calls.flatMap((call) => (['before', 'during', 'after'] as const).map((when) => ({ statement, call, when }))),
);
/** All of them take minutes; every tenth is what an ordinary run has time for. */
const EVERY = process.env['HEDDLE_TEST_LONG'] === '1' ? 1 : 10;
const chosen: (CrashPoint | null)[] = [null, ...points.filter((_, index) => index % EVERY === 0)];

function nameOf(point: CrashPoint | null): string {
  return point === null
    ? 'nowhere: the run that all others must equal'
    : `${point.when} call ${point.call} of ${point.statement}`;
}

function startLoop(bench: Pick<Bench, 'manager' | 'queue' | 'engine'>): ManagerLoop {
  const loop = new ManagerLoop({
    ...bench,
    receivers: 1,
    intervalMs: INTERVAL_MS,
    visibilityMs: VISIBILITY_MS,
    inboxKeepMs: 3_600_000,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
  });
  loop.start();
  return loop;
}

describe('a manager that is killed', { concurrency: LANES }, () => {
  const lanes: TestDatabase[] = [];
  const free: TestDatabase[] = [];

  before(async () => {
    for (let lane = 0; lane < LANES; lane += 1) lanes.push(await createTestDatabase({ maxSize: 6 }));
    free.push(...lanes);
  });
  after(() => Promise.all(lanes.map((lane) => lane.drop())));

  /** A lane takes one point after the other; what a failure left behind must not fail the next one. */
  async function onLane(run: (lane: TestDatabase) => Promise<void>): Promise<void> {
    const lane = free.pop()!;
    try {
      await run(lane);
      free.push(lane);
    } catch (error) {
      const fresh = await createTestDatabase({ maxSize: 6 });
      lanes.push(fresh);
      free.push(fresh);
      throw error;
    }
  }

  /** Lets the world work until it has come to its end (true), or until the manager is dead (false). */
  async function drive(
    { database, queue }: Pick<Bench, 'database' | 'queue'>,
    world: ManagerWorld,
    isDead: () => boolean = () => false,
  ): Promise<boolean> {
    const deadline = performance.now() + DRIVE_MS;
    while (!isDead()) {
      if (await hasEnded(database, queue, world)) return true;
      assert.ok(performance.now() < deadline, 'the workflows do not come to their end');
      if ((await world.work(queue)) === 0) await sleep(5);
    }
    return false;
  }

  async function dieAt(lane: TestDatabase, point: CrashPoint | null, index: number): Promise<void> {
    const world = new ManagerWorld(`run${index}`, index);
    const outside = benchOn(lane.database);
    const mortal = new MortalDatabase(lane.url, `mortal ${index}`, point);
    const loop = startLoop(benchOn(mortal));
    await world.begin(outside);
    await drive(outside, world, () => mortal.died);
    // A dead loop cannot end; this is for what it sleeps on.
    const stopping = loop.stop();
    await Promise.race([stopping, mortal.death]);
    if (point !== null) {
      await mortal.bury(lane.database);
      const next = startLoop(outside);
      await drive(outside, world);
      await next.stop();
    }
    await assertClean(lane.database, outside.queue, world);
    await outside.queue.close();
    await outside.engine.close();
    await mortal.close();
    assert.ok(point === null || mortal.died, `${nameOf(point)} was not reached`);
  }

  chosen.forEach((point, index) => {
    it(nameOf(point), () => onLane((lane) => dieAt(lane, point, index)));
  });
});
