import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { JsonObject } from '@heddle/base/json';
import { parseWorkflow } from '../../../src/domain/parse/workflow.ts';
import type { Engine } from '../../../src/engine/port.ts';
import { newId } from '@heddle/base/random';
import type { Statement } from '../../../src/store/database.ts';
import { claimKind, newBench, succeed } from '@heddle/test-support/engine/fixture';

const READ_IN_TRANSACTION: Statement = {
  name: 'test.rows_read',
  text: `select coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::integer as n from pg_stat_xact_user_tables
    where relname in ('container', 'task')`,
};
/** As if the ends of a container's children had been counted, and the container not been checked since. */
const FORGET_END: Statement = {
  name: 'test.forget_end',
  text: `with inner_one as (
      update heddle.container set state = 3, ended_at = null where workflow_id = $1 and parent_id is not null)
    update heddle.container set state = 3, ended_at = null, open = 1, succeeded = 0 where id = $1`,
};

async function submitTree(engine: Engine, root: JsonObject): Promise<string> {
  const parsed = parseWorkflow({ root }, newId);
  assert.ok(parsed.ok);
  await engine.submitWorkflows([
    { name: null, root: parsed.root, traceparent: null, idempotency: null, job_run_id: null },
  ]);
  return parsed.root.id;
}

describe('a second look at workflows', { concurrency: false }, () => {
  test('above the tasks of a batch costs the same in a small tree and in a large one', async () => {
    const { engine } = await newBench();
    const branch = { mode: 'sequential', children: [{ kind: 'work' }, { kind: 'work' }] };
    const root = await submitTree(engine, { mode: 'parallel', children: new Array<JsonObject>(2_000).fill(branch) });
    const claimed = await claimKind(engine, 'work', 10);
    await succeed(engine, claimed);
    const read = await engine.transaction(async (inner, tx) => {
      const count = async (): Promise<number> => (await tx.query<{ n: number }>(READ_IN_TRANSACTION))[0]!.n;
      const before = await count();
      await inner.reevaluate(
        [root],
        claimed.map(({ id }) => id),
      );
      return (await count()) - before;
    });
    assert.ok(read > 0 && read < 200, `${read} rows were read`);
  });

  test('moves on what stands above these tasks, and all that follows from it', async () => {
    const { engine, database } = await newBench();
    const inner = { mode: 'parallel', children: [{ kind: 'work' }] };
    const root = await submitTree(engine, { mode: 'parallel', children: [inner] });
    const claimed = await claimKind(engine);
    await succeed(engine, claimed);
    for (const tasks of [undefined, [claimed[0]!.id]]) {
      assert.equal((await engine.getWorkflow(root))?.root_state, 'succeeded');
      await database.query(FORGET_END, [root]);
      assert.equal((await engine.getWorkflow(root))?.root_state, 'running');
      await engine.reevaluate([root], tasks);
    }
    assert.equal((await engine.getWorkflow(root))?.root_state, 'succeeded');
  });
});
