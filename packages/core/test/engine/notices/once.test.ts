/** Each failed run of a workflow is announced once: under retries, repeated and late reports, and several managers at once. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { JsonObject } from '@heddle/base/json';
import type { ClaimedTask, Report, TaskNotices } from '../../../src/engine/port.ts';
import { seededRandom } from '@heddle/base/random';
import type { Statement } from '../../../src/store/database.ts';
import { benchOn, feed, newBench, newId, run } from '@heddle/test-support/engine/manager/fixture';

const WORKFLOWS = 25;
const ENGINES = 3;
const RUNS = 3;
const HOOK = 'https://hooks.example.com/in';
const LANES = ['kind:work', 'kind:tell'];

const TOLD: Statement = {
  name: 'test.told',
  text: `select workflow_id, task_id = workflow_id as by_end, attempt, count(*)::integer as n
    from delivery where trigger = 'notify' group by 1, 2, 3`,
};

const FINALIZE_AGAIN: Statement = {
  name: 'test.finalize_again',
  text: `insert into finalization (workflow_id, created_at)
    select id, now() from workflow where remaining = 0 on conflict do nothing`,
};

function workflow(id: string): JsonObject {
  const policy = 'ContinueOnFailure';
  const telling = Array.from({ length: 3 }, () => ({ kind: 'tell', policy }));
  const children = [
    { kind: 'work', policy },
    { kind: 'work', policy },
    { mode: 'parallel', policy, children: telling },
  ];
  const notify = [{ to: { webhook: { url: HOOK } } }];
  return { type: 'CreateTaskCollection', collection: { root: { id, mode: 'sequential', children }, notify } };
}

const notices: TaskNotices = {
  actions: [{ trigger: 'notify', channel: 'webhook', params: { url: HOOK, verb: 'Post', body: {} } }],
  once_per_workflow: true,
};

function reportOf(task: ClaimedTask): Report {
  const common = { task_id: task.id, attempt: task.attempt };
  if (task.kind === 'tell') return { ...common, outcome: 'succeeded', result: { sent: true }, notices };
  return { ...common, outcome: 'failed', reason: 'as planned' };
}

for (const seed of [1, 2, 3]) {
  describe(`notices once for each run, seed ${seed}`, () => {
    it('regardless of which manager finishes it, and of repeated reports', async () => {
      const bench = await newBench();
      const random = seededRandom(seed);
      const others = [bench, ...Array.from({ length: ENGINES - 1 }, () => benchOn(bench.database))];
      const ids = Array.from({ length: WORKFLOWS }, () => newId());
      await feed(bench.manager, ...ids.map((id) => workflow(id)));
      const said: Report[] = [];
      for (let round = 1; round <= RUNS; round += 1) {
        for (let busy = true; busy;) {
          const claims = await Promise.all(
            others.map(({ engine }) =>
              engine.claim({ lanes: LANES, limit: 1 + Math.floor(random.next() * 9), holder: 'test' }),
            ),
          );
          busy = claims.some((tasks) => tasks.length > 0);
          await Promise.all(
            claims.map(async (tasks, index) => {
              const reports = tasks.map(reportOf);
              const again = said.filter(() => random.next() < 0.05);
              said.push(...reports);
              await others[index]!.engine.report([...reports, ...again]);
              // Another manager that receives the message reports it again.
              await others[(index + 1) % ENGINES]!.engine.report(reports);
            }),
          );
          await Promise.all(others.map(({ manager }) => run(manager)));
        }
        await bench.database.query(FINALIZE_AGAIN);
        await Promise.all(others.map(({ manager }) => run(manager)));
        if (round < RUNS) for (const id of ids) await bench.engine.retryWorkflow(id);
      }
      const told = await bench.database.query<{ workflow_id: string; by_end: boolean; attempt: number; n: number }>(
        TOLD,
      );
      for (const id of ids) {
        const own = told.filter(({ workflow_id }) => workflow_id === id);
        const sumOf = (byEnd: boolean): number =>
          own.reduce((sum, { by_end, n }) => sum + (by_end === byEnd ? n : 0), 0);
        assert.equal(sumOf(true), RUNS, 'announced ends');
        assert.equal(sumOf(false), RUNS, 'announced errors');
        assert.ok(
          own.filter(({ by_end }) => by_end).every(({ n }) => n === 1),
          'one for each run',
        );
      }
    });
  });
}
