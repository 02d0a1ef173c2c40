import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { JsonObject } from '@heddle/base/json';
import { parseWorkflow } from '../../../src/domain/parse/workflow.ts';
import type { NewContainerNode } from '@heddle/base/vocabulary/workflow';
import type { Engine, NodeCreation } from '../../../src/engine/port.ts';
import { newId } from '@heddle/base/random';
import type { Statement } from '../../../src/store/database.ts';
import { claimKind, newBench } from '@heddle/test-support/engine/fixture';

const CONTAINERS_READ: Statement = {
  name: 'test.containers_read',
  text: `select coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::integer as n from pg_stat_xact_user_tables
    where relname = 'container'`,
};

function parsed(root: JsonObject): NewContainerNode {
  const read = parseWorkflow({ root }, newId);
  assert.ok(read.ok, JSON.stringify(read));
  return read.root;
}

/** `count` containers of one task each. */
function made(generator_id: string, count: number, parent: string | null = null): NodeCreation[] {
  const child = { mode: 'sequential', children: [{ kind: 'made' }] };
  const { children } = parsed({ mode: 'parallel', children: new Array<JsonObject>(count).fill(child) });
  return children.map((node) => ({ generator_id, attempt: null, node, parent }));
}

async function startGenerator(engine: Engine): Promise<string> {
  const root = parsed({
    mode: 'parallel',
    children: [
      { kind: 'work', generator: true },
      { id: 'fan', mode: 'parallel', children: [] },
    ],
  });
  await engine.submitWorkflows([{ name: null, root, traceparent: null, idempotency: null, job_run_id: null }]);
  return (await claimKind(engine))[0]!.id;
}

describe('nodes of a generator in a tree of many containers', { concurrency: false }, () => {
  for (const parent of [null, 'fan']) {
    test(`find their place ${parent === null ? 'beside it' : 'by name'} without a look at all of them`, async () => {
      const { engine } = await newBench();
      const generator = await startGenerator(engine);
      await engine.createNodes(made(generator, 2_000, parent));
      const read = await engine.transaction(async (inner, tx) => {
        const count = async (): Promise<number> => (await tx.query<{ n: number }>(CONTAINERS_READ))[0]!.n;
        const before = await count();
        const results = await inner.createNodes(made(generator, 50, parent));
        assert.ok(results.every(({ result }) => result === 'created'));
        return (await count()) - before;
      });
      assert.ok(read > 0 && read < 1_000, `${read} containers were read`);
    });
  }
});
