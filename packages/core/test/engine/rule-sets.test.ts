import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import type { Rule } from '@heddle/base/vocabulary/task';
import { claimKind, newBench, newTask, submitTasks } from '@heddle/test-support/engine/fixture';
import { createEngine } from '../../src/engine/engine.ts';
import type { Engine } from '../../src/engine/port.ts';
import type { Database } from '../../src/store/database.ts';

const COUNT = {
  name: 'test.rule_sets',
  text: `select (select count(*) from rule_set)::integer as sets, (select count(*) from task_spec)::integer as specs`,
};

/** As many lists as there may be. */
const FILL = {
  name: 'test.fill_rule_sets',
  text: `insert into rule_set (digest, list, shapes, maxima)
    select sha256(n::text::bytea), '[]', '{}', '{}' from generate_series(1, 10000) n`,
};

function counts(database: Database): Promise<{ sets: number; specs: number }[]> {
  return database.query(COUNT);
}

function rulesOf(max: number, ...fields: string[]): Rule[] {
  return [{ type: 'concurrency', matcher: { kind: 'work', fields }, max }];
}

async function claimed(engine: Engine): Promise<number> {
  return (await claimKind(engine)).length;
}

describe('a list of rules', () => {
  it('has one row, whatever tasks and submissions have it, and tasks read it back', async () => {
    const { engine, database } = await newBench();
    for (const rules of [rulesOf(2), rulesOf(2), rulesOf(2, 'tenant')]) {
      const { tasks } = await submitTasks(
        engine,
        Array.from({ length: 3 }, () => newTask({ rules: structuredClone(rules) })),
      );
      for (const { id } of tasks) assert.deepEqual((await engine.getTask(id))?.rules, rules);
    }
    assert.deepEqual(await counts(database), [{ sets: 2, specs: 0 }]);
  });

  it('has one row if two processes store it at once', async () => {
    const { engine, database } = await newBench();
    const other = createEngine({ database, clock: systemClock, random: systemRandom, log: silentLogger });
    await Promise.all([engine, other].map((one) => submitTasks(one, [newTask({ rules: rulesOf(1, 'both') })])));
    assert.deepEqual(await counts(database), [{ sets: 1, specs: 0 }]);
    assert.equal(await claimed(engine), 1);
  });

  it('is stored with each task, and limits it the same, once there are too many', async () => {
    const { engine, database } = await newBench();
    await submitTasks(engine, [newTask({ rules: rulesOf(2) })]);
    await database.query(FILL);
    const rules = rulesOf(1);
    const { tasks } = await submitTasks(engine, [
      newTask({ rules }),
      newTask({ rules }),
      newTask({ rules: rulesOf(2) }),
    ]);
    assert.equal((await counts(database))[0]?.specs, 2);
    for (const { id } of tasks.slice(0, 2)) assert.deepEqual((await engine.getTask(id))?.rules, rules);
    // The first task and the last one start; the others see two open attempts, and may not.
    assert.equal(await claimed(engine), 2);
  });
});
