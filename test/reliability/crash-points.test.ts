import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { createEngine } from '@heddle/core/engine/engine';
import { systemClock, type Clock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import type { TestDatabase } from '@heddle/test-support/postgres';
import { CRASH_CALLS, NOT_ON_THE_PATH } from '../support/reliability/crash-points.ts';
import { Driver, Scenario } from '../support/reliability/crash-scenario.ts';
import { assertVerdict, finishedIn } from '../support/reliability/crash-verdict.ts';
import type { CrashPoint } from '@heddle/test-support/reliability/crashing-database';
import { Journal, type JournalLine } from '../support/reliability/journal.ts';
import { Lanes } from '../support/reliability/lanes.ts';
import { startChild } from '@heddle/test-support/reliability/processes';

const LANES = 4;
const CHILD_DEADLINE_MS = 60_000;
const SOURCE = join(import.meta.dirname, '../../packages/core/src');

const LONG = process.env['HEDDLE_TEST_LONG'] === '1';
/** Within a transaction, the moment after a statement differs little from the moment before the next one. */
const isTriedAfter = (statement: string, index: number): boolean => LONG || index === 0 || statement === 'commit';

/** Of a statement that is called often, the first and the last time say most. */
const tried = (statement: string, calls: readonly number[]): readonly number[] =>
  LONG || statement === 'commit' ? calls : [...new Set([calls[0]!, calls.at(-1)!])];

const points = Object.entries(CRASH_CALLS).flatMap(([statement, calls]) =>
  tried(statement, calls).flatMap((call, index): CrashPoint[] => [
    { statement, call, when: 'before' },
    ...(index === 0 ? [{ statement, call, when: 'during' } as const] : []),
    ...(isTriedAfter(statement, index) ? [{ statement, call, when: 'after' } as const] : []),
  ]),
);

/** The second process lives later: what the first one held has expired. */
const LATER_MS = 600_000;
const laterClock: Clock = { ...systemClock, now: () => systemClock.now() + LATER_MS };

function nameOf({ statement, call, when }: CrashPoint): string {
  return `${when} call ${call} of ${statement}`;
}

/** Plays the scenario in a process of its own up to the point; resolves with what it told. */
async function playUntil(url: string, run: string, point: CrashPoint | null): Promise<Journal> {
  const child = startChild(join(import.meta.dirname, '../support/reliability/crash-process.ts'), [
    url,
    run,
    JSON.stringify(point),
  ]);
  const timeout = AbortSignal.timeout(CHILD_DEADLINE_MS);
  timeout.addEventListener('abort', () => void child.kill());
  const how = await child.ended;
  assert.ok(!timeout.aborted, `the process neither ended nor crashed within ${CHILD_DEADLINE_MS} ms`);
  if (point === null) assert.equal(how, 0, child.errors());
  else assert.equal(how, 'SIGKILL', `${nameOf(point)} was not reached: ${child.errors()}`);
  const journal = new Journal();
  for (const line of child.lines) if (line.event !== 'done') journal.replay(line as unknown as JournalLine);
  return journal;
}

/** Goes on in this process from where the other one died, and looks at what came of it. */
async function recover({ database }: TestDatabase, journal: Journal, run: string): Promise<void> {
  const options = { database, random: systemRandom, log: silentLogger };
  const engine = createEngine({ ...options, clock: laterClock });
  try {
    await new Driver(engine, journal, new Scenario(run), () => finishedIn(database, run)).drive();
  } finally {
    await engine.close();
  }
  await assertVerdict(database, journal, run);
}

describe('a process that is killed at a point of a task’s life', { concurrency: LANES }, () => {
  const lanes = new Lanes(LANES, 4);
  before(() => lanes.open());
  after(() => lanes.close());

  points.forEach((point, index) => {
    it(nameOf(point), () =>
      lanes.on(async (lane) => {
        const run = `run${index}`;
        await recover(lane, await playUntil(lane.url, run, point), run);
      }),
    );
  });

  it('none: the scenario itself', () =>
    lanes.on(async (lane) => {
      const journal = await playUntil(lane.url, 'whole', null);
      await assertVerdict(lane.database, journal, 'whole');
    }));
});

describe('the table of crash points', () => {
  const STATEMENT_NAME = /\b(?:name: '|statement\('(?=[a-z_]+\.))([a-z_.]+)'/g;
  const files = ['store/*.ts', 'engine/*.ts'].flatMap((pattern) => globSync(pattern, { cwd: SOURCE }));
  const names = files.flatMap((path) =>
    [...readFileSync(join(SOURCE, path), 'utf8').matchAll(STATEMENT_NAME)].map(([, name]) => name!),
  );

  it('has a row for every statement, or says why not', () => {
    assert.ok(names.length > 60, `${names.length} statements were found`);
    const reasons = Object.values(NOT_ON_THE_PATH);
    const missing = names.filter((name) => !(name in CRASH_CALLS) && !reasons.some((pattern) => pattern.test(name)));
    assert.deepEqual(missing, []);
  });

  it('names no statement that is gone', () => {
    assert.deepEqual(
      Object.keys(CRASH_CALLS).filter((name) => !names.includes(name)),
      [],
    );
  });
});
