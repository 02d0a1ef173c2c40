import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { claimKind, newBench } from '@heddle/test-support/engine/fixture';
import { finishNext, par, seq, statesOf, submitTree } from '@heddle/test-support/engine/flow/tree';

describe('a success that disables nodes', { concurrency: false }, () => {
  it('reaches only later nodes of its own sequence; other names are ignored', async () => {
    const warnings: unknown[] = [];
    const log = {
      warn: (fields: unknown) => warnings.push(fields),
      info() {},
      error() {},
      debug() {},
      child: () => log,
    };
    const { engine } = await newBench({ log: log });
    const stranger = await submitTree(engine, seq({ id: 'elsewhere', kind: 'other' }));
    const id = await submitTree(
      engine,
      seq(
        { id: 'before', kind: 'work' },
        { id: 'decide', kind: 'work' },
        { id: 'after', kind: 'work' },
        { id: 'inner', ...seq({ id: 'deep', kind: 'work' }) },
        { id: 'last', kind: 'work' },
      ),
    );
    await finishNext(engine, 'work');
    const [decide] = await claimKind(engine);
    const report = { task_id: decide!.id, attempt: 1, outcome: 'succeeded' as const };
    const disable = ['before', 'deep', 'elsewhere', 'after', 'nobody', 'decide'];
    await engine.report([{ ...report, disable }]);
    const states = await statesOf(engine, id);
    assert.deepEqual(states, {
      before: 'succeeded',
      decide: 'succeeded',
      after: 'disabled',
      inner: 'running',
      deep: 'pending',
      last: 'waiting',
    });
    assert.equal((await statesOf(engine, stranger))['elsewhere'], 'pending');
    const ignored = warnings.map((fields) => (fields as { node?: string }).node).sort();
    assert.deepEqual(ignored, ['before', 'decide', 'deep', 'elsewhere', 'nobody']);
  });

  it('counts once, for the attempt that is open, and only as a success', async () => {
    const { engine } = await newBench();
    const id = await submitTree(
      engine,
      seq(
        { id: 'a', kind: 'work', retry: { max_attempts: 3, backoff_secs: 0 } },
        { id: 'b', kind: 'work' },
        { id: 'c', kind: 'work' },
      ),
    );
    const [a] = await claimKind(engine);
    await engine.report([{ task_id: a!.id, attempt: 7, outcome: 'succeeded', disable: ['b'] }]);
    assert.equal((await statesOf(engine, id))['b'], 'waiting');
    await engine.report([{ task_id: a!.id, attempt: 1, outcome: 'failed', disable: ['b'] }]);
    assert.equal((await statesOf(engine, id))['b'], 'waiting');
    const [again] = await claimKind(engine);
    const [first] = await engine.report([{ task_id: again!.id, attempt: 2, outcome: 'succeeded', disable: ['b'] }]);
    const [second] = await engine.report([{ task_id: again!.id, attempt: 2, outcome: 'succeeded', disable: ['c'] }]);
    assert.deepEqual([first!.result, second!.result], ['applied', 'unchanged']);
    const states = await statesOf(engine, id);
    assert.deepEqual([states['b'], states['c']], ['disabled', 'pending']);
  });

  it('may leave nothing to run: the workflow ends with it', async () => {
    const { engine } = await newBench();
    const id = await submitTree(
      engine,
      seq(
        { id: 'a', kind: 'work' },
        { id: 'b', ...par({ kind: 'work' }, { kind: 'work' }) },
        { id: 'c', kind: 'work' },
      ),
    );
    const [a] = await claimKind(engine);
    await engine.reportAndClaim([{ task_id: a!.id, attempt: 1, outcome: 'succeeded', disable: ['b', 'c'] }], {
      lanes: ['kind:work'],
      limit: 5,
      holder: 'test',
    });
    const workflow = (await engine.getWorkflow(id))!;
    assert.deepEqual([workflow.remaining, workflow.root_state], [0, 'succeeded']);
    const root = (await engine.getTree(id))!.tree.containers.find((container) => container.id === id)!;
    assert.deepEqual([root.counts.open, root.counts.succeeded, root.counts.disabled], [0, 1, 2]);
  });

  it('disables what is paused, too, and leaves alone what was canceled before', async () => {
    const { engine } = await newBench();
    const id = await submitTree(
      engine,
      seq({ id: 'a', kind: 'work' }, { id: 'b', kind: 'work' }, { id: 'c', kind: 'work', policy: 'ContinueOnFailure' }),
    );
    const [a] = await claimKind(engine);
    const { tree } = (await engine.getTree(id))!;
    const idOf = (name: string) => tree.tasks.find(({ local_id }) => local_id === name)!.id;
    await engine.pause([idOf('b')]);
    await engine.cancel([idOf('c')]);
    await engine.report([{ task_id: a!.id, attempt: 1, outcome: 'succeeded', disable: ['b', idOf('c')] }]);
    assert.deepEqual(await statesOf(engine, id), { a: 'succeeded', b: 'disabled', c: 'canceled' });
    assert.equal((await engine.getWorkflow(id))!.root_state, 'partially_failed');
  });
});
