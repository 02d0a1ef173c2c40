import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { JsonObject } from '@heddle/base/json';
import { parseStartTask } from '../../../src/domain/parse/message.ts';
import type { Statement } from '../../../src/store/database.ts';
import { leaseBench } from '../../support/engine/lease-fixture.ts';
import { finishNext, par, seq, statesOf, submitTree } from '@heddle/test-support/engine/flow/tree';

const expr = (text: string): JsonObject => ({ $expr: text });

const CLAIMED: Statement = {
  name: 'test.claimed',
  text: `select count(*)::integer as n from heddle.task where state in (2, 3)`,
};

async function bench() {
  const made = await leaseBench();
  await made.engine.workersSeen([{ worker: 'w1', kinds: ['use'], concurrency: 50 }]);
  const id = await submitTree(
    made.engine,
    seq(
      { id: 'scan', kind: 'scan' },
      par(
        { id: 'good', kind: 'use', input: { n: expr('nodes.scan.result.n') } },
        { id: 'bad', kind: 'use', retry: { max_attempts: 9 }, input: { n: expr('nodes.scan.result.m') } },
        { id: 'plain', kind: 'use', input: { n: 1 } },
      ),
    ),
  );
  await finishNext(made.engine, 'scan', { n: 'x'.repeat(100_000) });
  return { ...made, id };
}

describe('expressions of tasks that go through queues', { concurrency: false }, () => {
  it('have their values in the messages, larger than what may be submitted', async () => {
    const { engine, sent, id } = await bench();
    const messages = await engine.dispatch('manager', 100);
    assert.deepEqual(new Set(messages.map(({ task }) => task.local_id)), new Set(['good', 'plain']));
    const bodies = sent.get('worker:use') ?? [];
    assert.equal(bodies.length, 2);
    const read = bodies.map((body) => parseStartTask(JSON.stringify(body)));
    const good = read.flatMap((each) => (each.ok && each.message.task.local_id === 'good' ? [each.message] : []));
    assert.equal((good[0]!.task.input['n'] as string).length, 100_000);
    assert.equal((await statesOf(engine, id))['bad'], 'failed');
  });

  it('leave nothing claimed where the process dies before the commit', async () => {
    const { engine, database, id } = await bench();
    const original = database.transaction.bind(database);
    database.transaction = (run, options) =>
      original(async (tx) => {
        await run(tx);
        throw new Error('the process died');
      }, options);
    await assert.rejects(engine.dispatch('manager', 100), /the process died/);
    database.transaction = original;
    assert.deepEqual(await database.query(CLAIMED), [{ n: 0 }]);
    assert.equal((await statesOf(engine, id))['bad'], 'pending');
    await engine.dispatch('manager', 100);
    assert.deepEqual(await database.query(CLAIMED), [{ n: 2 }]);
    assert.equal((await statesOf(engine, id))['bad'], 'failed');
  });
});
