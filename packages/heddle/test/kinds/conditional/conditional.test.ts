import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { JsonObject } from '@heddle/base/json';
import { kindExecutor } from '../../../src/dispatch/kind/in-process.ts';
import { LocalWorker } from '../../../src/dispatch/local-worker.ts';
import { ExecutorRegistry } from '../../../src/dispatch/executor-registry.ts';
import type { Engine } from '@heddle/core/engine/port';
import { conditional } from '../../../src/kinds/conditional/conditional.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { claimKind, newBench } from '@heddle/test-support/engine/fixture';
import { finishNext, par, parsed, seq, statesOf, submitTree } from '@heddle/test-support/engine/flow/tree';
import { eventually } from '@heddle/test-support/eventually';

const when = (text: string, branches: JsonObject): JsonObject => ({
  id: 'if',
  kind: 'Conditional',
  input: { when: text, ...branches },
});

/** Runs conditionals in this process, like every server, until the check passes. */
async function withWorker(engine: Engine, check: () => Promise<void>): Promise<void> {
  const registry = new ExecutorRegistry();
  const kind = conditional();
  registry.register(kind.name, kindExecutor(kind, engine));
  const worker = new LocalWorker({
    engine,
    registry,
    holder: 'test',
    intervalMs: 50,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
  });
  worker.start();
  try {
    let last: unknown;
    await eventually(async () => {
      try {
        await check();
        return true;
      } catch (error) {
        last = error;
        return false;
      }
    }, 'the tree moves on').catch(() => {
      throw last;
    });
  } finally {
    await worker.stop(1000);
  }
}

async function expectStates(engine: Engine, id: string, expected: Record<string, string>): Promise<void> {
  const states = await statesOf(engine, id);
  assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, states[name]])), expected);
}

describe('Conditional', { concurrency: false }, () => {
  const tree = seq(
    { id: 'scan', kind: 'scan' },
    when('nodes.scan.result.open > 0', { then: ['deep', 'report'], else: 'quiet' }),
    { id: 'deep', ...par({ id: 'd1', kind: 'work' }, { id: 'd2', kind: 'work' }) },
    { id: 'report', kind: 'work' },
    { id: 'quiet', ...seq({ id: 'q1', kind: 'work' }) },
    { id: 'last', kind: 'work' },
  );

  it('runs the branch that its expression selects, and disables the other', async () => {
    const { engine } = await newBench();
    const id = await submitTree(engine, tree);
    await finishNext(engine, 'scan', { open: 3 });
    await withWorker(engine, () =>
      expectStates(engine, id, {
        if: 'succeeded',
        quiet: 'disabled',
        q1: 'disabled',
        d1: 'pending',
        d2: 'pending',
        report: 'waiting',
      }),
    );
    for (let n = 0; n < 4; n += 1) await finishNext(engine, 'work');
    await expectStates(engine, id, { last: 'succeeded', report: 'succeeded', quiet: 'disabled' });
    const workflow = (await engine.getWorkflow(id))!;
    assert.deepEqual([workflow.remaining, workflow.root_state], [0, 'succeeded']);
    const q1 = (await engine.getTree(id))!.tree.tasks.find(({ local_id }) => local_id === 'q1')!;
    assert.match((await engine.getTask(q1.id))!.failure_reason!, /^the branch that it is on was not taken by "if"/);
  });

  it('takes the other branch', async () => {
    const { engine } = await newBench();
    const id = await submitTree(engine, tree);
    await finishNext(engine, 'scan', { open: 0 });
    await withWorker(engine, () =>
      expectStates(engine, id, {
        if: 'succeeded',
        deep: 'disabled',
        d1: 'disabled',
        d2: 'disabled',
        report: 'disabled',
        q1: 'pending',
      }),
    );
    await finishNext(engine, 'work');
    await finishNext(engine, 'work');
    assert.equal((await engine.getWorkflow(id))!.root_state, 'succeeded');
  });

  it('fails if its expression fails or is not a boolean, and the stop disables what follows', async () => {
    const { engine } = await newBench();
    const number = await submitTree(
      engine,
      seq({ ...when('1 + 1', { then: 'a' }), retry: { max_attempts: 3 } }, { id: 'a', kind: 'work' }),
    );
    const broken = await submitTree(
      engine,
      seq({ id: 'x', kind: 'scan' }, when('nodes.x.result.y', { then: 'a' }), { id: 'a', kind: 'work' }),
    );
    await finishNext(engine, 'scan', {});
    await withWorker(engine, async () => {
      await expectStates(engine, number, { if: 'failed', a: 'disabled' });
      await expectStates(engine, broken, { if: 'failed', a: 'disabled' });
    });
    const reasonOf = async (id: string) => {
      const { tree: read } = (await engine.getTree(id))!;
      return (await engine.getTask(read.tasks.find(({ local_id }) => local_id === 'if')!.id))!.failure_reason;
    };
    assert.equal(await reasonOf(number), 'the input is invalid: input.when: must evaluate to true or false (got 2)');
    assert.equal(await reasonOf(broken), 'input.when: No such key: y (character 16 of "nodes.x.result.y")');
  });

  it('keeps its decision when a later node is retried, and decides again when an earlier one is', async () => {
    const { engine } = await newBench();
    const id = await submitTree(
      engine,
      seq(
        { id: 'scan', kind: 'scan', policy: 'ContinueOnFailure' },
        when('nodes.scan.state == "Succeeded"', { then: 'yes', else: 'no' }),
        { id: 'yes', kind: 'yes' },
        { id: 'no', kind: 'no' },
        { id: 'last', kind: 'last' },
      ),
    );
    const [scan] = await claimKind(engine, 'scan');
    await engine.report([{ task_id: scan!.id, attempt: 1, outcome: 'failed', reason: 'no' }]);
    await withWorker(engine, () => expectStates(engine, id, { yes: 'disabled', no: 'pending' }));
    await finishNext(engine, 'no');
    const [last] = await claimKind(engine, 'last');
    await engine.report([{ task_id: last!.id, attempt: 1, outcome: 'failed', reason: 'no' }]);
    await engine.retry([last!.id]);
    await expectStates(engine, id, { if: 'succeeded', yes: 'disabled', no: 'succeeded', last: 'pending' });
    await finishNext(engine, 'last');
    await engine.retryWorkflow(id);
    await finishNext(engine, 'scan');
    await withWorker(engine, () => expectStates(engine, id, { if: 'succeeded', yes: 'pending', no: 'disabled' }));
    await finishNext(engine, 'yes');
    await finishNext(engine, 'last');
    assert.equal((await engine.getWorkflow(id))!.root_state, 'succeeded');
  });

  it('releases containers that generators on the untaken branch would have filled', async () => {
    const { engine } = await newBench();
    const id = await submitTree(
      engine,
      par(seq(when('false', { then: 'make' }), { id: 'make', kind: 'make', generator: true }), { id: 'fan', ...par() }),
    );
    await expectStates(engine, id, { fan: 'running' });
    await withWorker(engine, () => expectStates(engine, id, { make: 'disabled', fan: 'succeeded' }));
    assert.equal((await engine.getWorkflow(id))!.root_state, 'succeeded');
  });

  const faults: [string, JsonObject, RegExp][] = [
    [
      'a branch before it',
      seq({ id: 'a', kind: 'w' }, when('true', { then: 'a' })),
      /^root\.children\[1\]\.input\.then: names "a", which is not a later node of the same sequence$/,
    ],
    [
      'a branch elsewhere',
      seq(when('true', { then: 'b' }), seq({ id: 'b', kind: 'w' })),
      /names "b", which is not a later node/,
    ],
    ['a parallel container', par(when('true', { then: 'a' }), { id: 'a', kind: 'w' }), /is not in a sequence/],
    [
      'no branch',
      seq(when('true', {}), { kind: 'w' }),
      /^root\.children\[0\]\.input: must name a node in then or else/,
    ],
    [
      'no expression',
      seq({ kind: 'Conditional', input: { then: 'a' } }, { id: 'a', kind: 'w' }),
      /input\.when: is required/,
    ],
    [
      'a wrong expression',
      seq(when('nodes.', { then: 'a' }), { id: 'a', kind: 'w' }),
      /^root\.children\[0\]\.input\.when: Expected IDENTIFIER/,
    ],
    [
      'another member',
      seq(when('true', { then: 'a', otherwise: 'a' }), { id: 'a', kind: 'w' }),
      /input\.otherwise: is not known/,
    ],
  ];
  for (const [name, root, expected] of faults) {
    it(`is rejected when submitted with ${name}`, async () => {
      const { engine } = await newBench();
      const submission = { name: null, root: parsed(root), traceparent: null, idempotency: null, job_run_id: null };
      await assert.rejects(engine.submitWorkflows([submission]), (error: { details: string[] }) =>
        expected.test(error.details[0]!),
      );
    });
  }
});
