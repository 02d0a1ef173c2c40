import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { collection, completion, newBench, newId, run, started, workerSeen } from './fixture.ts';

describe('a run of the manager', () => {
  it('takes a workflow from its message to its end, one step after the other', async () => {
    const { manager, queue, engine } = await newBench();
    const id = newId();
    const stored = await run(
      manager,
      workerSeen('one', 'two'),
      collection({ id, mode: 'sequential', children: [{ kind: 'one', input: { n: 1 } }, { kind: 'two' }] }),
    );
    assert.deepEqual([stored.failed, stored.buried, stored.dispatched, stored.error], [[], [], 1, null]);
    const [first] = await started(queue, 'one');
    assert.equal(first!.root_container_id, id);
    assert.deepEqual(first!.task.input, { n: 1 });
    assert.deepEqual(await started(queue, 'two'), []);

    assert.equal((await run(manager, completion(first!, { data: { found: 3 } }))).dispatched, 1);
    const [second] = await started(queue, 'two');
    const ended = await run(manager, completion(second!));
    assert.equal(ended.finalized, 1);
    assert.equal((await engine.getWorkflow(id))?.root_state, 'succeeded');
    assert.deepEqual(
      (await engine.readResults({ workflow_id: id }, null, 10)).map(({ data }) => data),
      [{ found: 3 }],
    );
  });
});
