import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { ManagerLoop } from 'heddle/internal/app/manager-loop';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { benchOn, type Bench } from '@heddle/test-support/engine/manager/fixture';
import type { TestDatabase } from '@heddle/test-support/postgres';
import type { CrashPoint } from '@heddle/test-support/reliability/crashing-database';
import { Lanes } from '../support/reliability/lanes.ts';
import { MANAGER_CRASH_CALLS } from '../support/reliability/manager-crash-points.ts';
import { drive } from '../support/reliability/manager-drive.ts';
import { assertClean } from '../support/reliability/manager-verdict.ts';
import { ManagerWorld } from '../support/reliability/manager-world.ts';
import { MortalDatabase } from '../support/reliability/mortal-database.ts';

const LANES = 4;
/** What a manager held that died comes back after this, ms. */
const VISIBILITY_MS = 150;
const INTERVAL_MS = 100;

const points = Object.entries(MANAGER_CRASH_CALLS).flatMap(([statement, calls]) =>
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
  const lanes = new Lanes(LANES, 6);
  before(() => lanes.open());
  after(() => lanes.close());

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
      await mortal.deadLetter(lane.database);
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
    it(nameOf(point), () => lanes.on((lane) => dieAt(lane, point, index)));
  });
});
