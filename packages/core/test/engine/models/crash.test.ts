/** Runs of models that die at any statement, and are begun again by the next attempt of their task. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';

import type { ModelRun, ReportedModel } from '../../../src/domain/model-record.ts';
import { newId } from '@heddle/base/random';
import type { Database } from '../../../src/store/database.ts';
import { CrashingDatabase, type CrashPoint } from '@heddle/test-support/reliability/crashing-database';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { host, modelsOf, runOf } from '@heddle/test-support/engine/models/seen';

/** More than one page of each statement that goes by pages. */
const FIRST = Array.from({ length: 1200 }, (_, n) => host(n));
const SECOND: ReportedModel[] = Array.from({ length: 1100 }, (_, n) => host(n + 1190, { os: 'b' }));

class Crash extends Error {}

const crash = (): Promise<never> => Promise.reject(new Crash());

describe('a run of models that dies', () => {
  let database: Database;

  before(async () => {
    ({ database } = await createTestDatabase());
  });

  /** A second run of a target, which dies at the point; what the target holds once the run was begun again. */
  async function story(target: string, point: CrashPoint | null): Promise<{ run: ModelRun; held: unknown[] }> {
    await runOf(modelsOf(database), target, FIRST);
    const id = newId();
    const dying = modelsOf(new CrashingDatabase(database, point, crash));
    if (point !== null) await assert.rejects(runOf(dying, target, SECOND, { id }), Crash);
    const run = await runOf(modelsOf(database), target, SECOND, { id });
    const held = await database.query(
      {
        name: 'test.held',
        text: `select m.model, m.key, m.data, m.state, m.first_run, m.last_run, m.changed_run, m.gone_run, m.runs, m.previous,
          m.held - 'at' as held from recon.models m join recon.model_target t on t.id = m.target_id where t.name = $1 order by m.key`,
      },
      [target],
    );
    return { run, held };
  }

  it('comes to the same as one that does not, wherever it died', async () => {
    const counting = new CrashingDatabase(database, null, crash);
    await runOf(modelsOf(database), 'counted', FIRST);
    await runOf(modelsOf(counting), 'counted', SECOND);
    const called = Object.fromEntries(counting.calls);
    const { 'models.get_run': reads = 0, ...rest } = called;
    assert.ok(reads > 0);
    assert.deepEqual(rest, {
      'models.lock_target': 1,
      'models.insert_run': 1,
      'models.count_run': 1,
      commit: 1,
      'models.merge': 2,
      'models.cover': 1,
      'models.mark_gone': 2,
      'models.finish': 1,
    });
    const whole = await story('whole', null);
    assert.deepEqual([whole.run.number, whole.run.new, whole.run.changed, whole.run.gone], [2, 1090, 10, 1190]);
    for (const [statement, calls] of Object.entries(rest)) {
      for (let call = 1; call <= calls; call += 1) {
        for (const when of ['before', 'after'] as const) {
          const name = `${when} call ${call} of ${statement}`;
          const { run, held } = await story(name, { statement, call, when });
          assert.deepEqual([run.number, run.new, run.changed, run.known, run.gone], [2, 1090, 10, 0, 1190], name);
          const at = held.findIndex((row, index) => !isDeepStrictEqual(row, whole.held[index]));
          assert.deepEqual([held.length, held[at]], [whole.held.length, whole.held[at]], name);
        }
      }
    }
  });

  it('waits for a concurrent merge into the same target before it locks a row', async () => {
    const target = 'contended';
    await runOf(modelsOf(database), target, FIRST);
    const id = newId();
    const models = modelsOf(database);
    await models.beginRun(id, target);
    let finishing: Promise<ModelRun> | undefined;
    await database.transaction(async (tx) => {
      await tx.query({ name: 'test.lock', text: `select 1 from recon.model_target where name = $1 for update` }, [
        target,
      ]);
      finishing = models.finishRun(id, { complete: true, covers: ['host'] });
      const waiting = { name: 'test.waiting', text: `select 1 from pg_locks where not granted` };
      while ((await database.query(waiting)).length === 0);
      // The holder of the target may lock its rows in any order.
      const free = await tx.query<{ n: number }>(
        {
          name: 'test.free',
          text: `select count(*)::integer as n from (select m.id from recon.models m join recon.model_target t
          on t.id = m.target_id where t.name = $1 for update of m skip locked) x`,
        },
        [target],
      );
      assert.equal(free[0]!.n, FIRST.length);
    });
    assert.equal((await finishing!).gone, FIRST.length);
  });
});
