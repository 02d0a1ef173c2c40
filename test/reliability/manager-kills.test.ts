import { join } from 'node:path';
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { benchOn } from '@heddle/test-support/engine/manager/fixture';
import type { TestDatabase } from '@heddle/test-support/postgres';
import type { CrashPoint } from '@heddle/test-support/reliability/crashing-database';
import { Lanes } from '../support/reliability/lanes.ts';
import { drive } from '../support/reliability/manager-drive.ts';
import { assertClean } from '../support/reliability/manager-verdict.ts';
import { ManagerWorld } from '../support/reliability/manager-world.ts';
import { startChild } from '@heddle/test-support/reliability/processes';

/**
 * Where a manager's process kills itself: the calls of what receives messages, of what commits their effects, and of
 * what tells the queue that they were handled.
 */
const BOUNDARIES: Readonly<Record<string, readonly number[]>> = {
  'queues.receive': [1, 3],
  'inbox.remember': [1, 3],
  commit: [1, 2, 3, 4, 5, 6, 8, 11],
  'queues.delete': [1, 2, 4],
  'queues.dead_letter': [1],
};
const points = Object.entries(BOUNDARIES).flatMap(([statement, calls]) =>
  calls.flatMap((call) => (['before', 'during', 'after'] as const).map((when) => ({ statement, call, when }))),
);
const ORDINARY: readonly string[] = [
  'after call 1 of queues.receive',
  'before call 2 of commit',
  'during call 3 of commit',
  'before call 1 of queues.delete',
  'after call 1 of queues.dead_letter',
];

function nameOf({ statement, call, when }: CrashPoint): string {
  return `${when} call ${call} of ${statement}`;
}

describe('a manager’s process that is killed', { concurrency: 2 }, () => {
  const lanes = new Lanes(2, 6);
  before(() => lanes.open());
  after(() => lanes.close());

  async function killAt(lane: TestDatabase, point: CrashPoint, index: number): Promise<void> {
    const world = new ManagerWorld(`kill${index}`, index);
    // The workers and the sender; the managers are processes of their own.
    const outside = benchOn(lane.database);
    const first = startChild(join(import.meta.dirname, '../support/reliability/manager-process.ts'), [
      lane.url,
      JSON.stringify(point),
    ]);
    let how: number | string | undefined;
    void first.ended.then((ended) => (how = ended));
    await first.told('ready');
    await world.begin(outside);
    await drive(outside, world, () => how !== undefined);
    assert.equal(how, 'SIGKILL', `${nameOf(point)} was not reached: ${first.errors()}`);
    const second = startChild(join(import.meta.dirname, '../support/reliability/manager-process.ts'), [lane.url]);
    await drive(outside, world);
    await second.kill();
    await assertClean(lane.database, outside.queue, world);
    await outside.queue.close();
    await outside.engine.close();
  }

  points.forEach((point, index) => {
    // All of them take minutes; an ordinary run has time for a few.
    if (process.env['HEDDLE_TEST_LONG'] !== '1' && !ORDINARY.includes(nameOf(point))) return;
    it(nameOf(point), () => lanes.on((lane) => killAt(lane, point, index)));
  });
});
