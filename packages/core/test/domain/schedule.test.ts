import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  admit,
  CATCH_UP_MAX,
  fixedIds,
  LATE_AFTER_MS,
  planRuns,
  type DueOccurrences,
} from '../../src/domain/schedule.ts';

const HOUR = 3_600_000;
const NONE = { running: 0, queued: 0 };

/** Occurrences at these hours. */
function due(...hours: number[]): DueOccurrences {
  return { first: hours[0]! * HOUR, times: hours.map((hour) => hour * HOUR), count: hours.length };
}

function planned(...[job, occurrences, open, now]: Parameters<typeof planRuns>): string[] {
  const { runs } = planRuns(job, occurrences, open, now);
  return runs.map(({ scheduled_for, state }) => `${scheduled_for / HOUR} ${state}`);
}

test('whether a run may start beside those that have not ended', () => {
  for (const overlap of ['skip', 'queue', 'allow'] as const) assert.equal(admit(overlap, NONE).state, 'Running');
  assert.equal(admit('allow', { running: 7, queued: 3 }).state, 'Running');
  assert.deepEqual(admit('skip', { running: 1, queued: 0 }), {
    state: 'Skipped',
    reason: 'the run before it has not ended',
  });
  assert.equal(admit('skip', { running: 0, queued: 1 }).state, 'Skipped');
  assert.equal(admit('queue', { running: 1, queued: 0 }).state, 'Queued');
  assert.equal(admit('queue', { running: 1, queued: 1 }).state, 'Skipped');
  assert.equal(admit('skip', { running: 1, queued: 5 }, true).state, 'Queued');
  assert.deepEqual(admit('skip', { running: 1, queued: CATCH_UP_MAX }, true), {
    state: 'Skipped',
    reason: `${CATCH_UP_MAX} runs are waiting already`,
  });
});

test('an occurrence is missed when the next one is due as well, or when it is found late', () => {
  const job = { recurrence: null, overlap: 'allow', catch_up: 'skip' } as const;
  assert.deepEqual(planned(job, due(1), NONE, HOUR + LATE_AFTER_MS), ['1 Running']);
  assert.deepEqual(planned(job, due(1), NONE, HOUR + LATE_AFTER_MS + 1), ['1 Skipped']);
  assert.deepEqual(planned(job, due(1, 2), NONE, 2 * HOUR), ['1 Skipped', '2 Running']);
});

test('catch-up once: one run, of the latest occurrence, stands for all', () => {
  const job = { recurrence: null, overlap: 'skip', catch_up: 'once' } as const;
  assert.deepEqual(planned(job, due(1), NONE, 10 * HOUR), ['1 Running']);
  const { runs } = planRuns(job, due(1, 2, 3), NONE, 10 * HOUR);
  assert.deepEqual(
    runs.map(({ scheduled_for, state, reason }) => [scheduled_for / HOUR, state, reason]),
    [
      [
        1,
        'Skipped',
        '2 occurrences from 1970-01-01T01:00:00.000Z on passed while no server was running to start them; the run of 1970-01-01T03:00:00.000Z covers them',
      ],
      [3, 'Running', null],
    ],
  );
});

test('catch-up all: each runs, in their order, as far as the recurrence and the bound go', () => {
  const job = { recurrence: null, overlap: 'allow', catch_up: 'all' } as const;
  assert.deepEqual(planned(job, due(1, 2, 3), NONE, 9 * HOUR), ['1 Running', '2 Running', '3 Running']);
  assert.deepEqual(planned({ ...job, recurrence: 2 }, due(1, 2, 3), NONE, 9 * HOUR), ['1 Running', '2 Running']);
  assert.equal(planRuns({ ...job, recurrence: 2 }, due(1, 2, 3), NONE, 9 * HOUR).recurrence, 0);
  // Where runs may not overlap they wait for one another; what waits counts as well.
  const inTurn = { ...job, overlap: 'skip' } as const;
  assert.deepEqual(planned(inTurn, due(1, 2), NONE, 9 * HOUR), ['1 Running', '2 Queued']);
  assert.deepEqual(planned(inTurn, due(1, 2), { running: 1, queued: 99 }, 9 * HOUR), ['1 Queued', '2 Skipped']);
  const hours = Array.from({ length: 150 }, (_, index) => index + 1);
  const many = planRuns(job, due(...hours), NONE, 151 * HOUR).runs;
  assert.deepEqual([many.length, many[0]!.state, many[1]!.scheduled_for], [CATCH_UP_MAX + 1, 'Skipped', 51 * HOUR]);
});

test('only what starts or will start uses up the recurrence', () => {
  const job = { recurrence: 3, overlap: 'queue', catch_up: 'once' } as const;
  assert.equal(planRuns(job, due(1), { running: 1, queued: 0 }, HOUR).recurrence, 2);
  assert.equal(planRuns(job, due(1), { running: 1, queued: 1 }, HOUR).recurrence, 3);
  assert.equal(planRuns({ ...job, catch_up: 'skip' }, due(1), NONE, 9 * HOUR).recurrence, 3);
  assert.equal(planRuns({ ...job, recurrence: null }, due(1), NONE, HOUR).recurrence, null);
});

test('ids that each run would make again are found at any depth', () => {
  const uuid = '01890A5D-AC96-774B-BCCE-B302099A8057';
  let node: { id?: string; mode?: string; children?: object[] } = { id: uuid };
  for (let depth = 0; depth < 5000; depth += 1) node = { mode: 'sequential', children: [{ id: 'a name' }, node] };
  const [fault, ...others] = fixedIds(node as never);
  assert.deepEqual(others, []);
  assert.match(fault!, /^root(\.children\[1\]){5000}\.id: must not be a UUID in a job/);
  assert.deepEqual(fixedIds('nonsense'), []);
});
