import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { JsonObject } from '@heddle/base/json';
import { claimKind, newBench } from '@heddle/test-support/engine/fixture';
import { finishNext, par, parsedNode, seq, submitTree } from '@heddle/test-support/engine/flow/tree';

const expr = (text: string): JsonObject => ({ $expr: text });

const TREE = seq(
  { id: 'scan', kind: 'scan' },
  { id: 'make', kind: 'make', generator: true },
  { id: 'fan', ...par() },
  { id: 'last', kind: 'last' },
);

async function startGenerator() {
  const { engine } = await newBench();
  await submitTree(engine, TREE);
  await finishNext(engine, 'scan', { n: 5 });
  const [generator] = await claimKind(engine, 'make');
  const create = async (parent: string | null, ...nodes: JsonObject[]) =>
    engine.createNodes(
      nodes.map((node) => ({ generator_id: generator!.id, attempt: 1, node: parsedNode(node), parent })),
    );
  const done = async (count: number) =>
    engine.report([{ task_id: generator!.id, attempt: 1, outcome: 'succeeded', expected_created: count }]);
  return { engine, create, done };
}

describe('expressions in what generators make', { concurrency: false }, () => {
  it('read what stands before the place that it goes to', async () => {
    const { engine, create, done } = await startGenerator();
    const results = await create(
      'fan',
      { kind: 'use', input: { n: expr('nodes.scan.result.n') } },
      {
        ...seq(
          { id: 'inner', kind: 'inner' },
          { kind: 'use', input: { n: expr('nodes.inner.result.m + nodes.scan.result.n') } },
        ),
      },
    );
    assert.deepEqual(
      results.map(({ result }) => result),
      ['created', 'created'],
    );
    await done(2);
    await finishNext(engine, 'inner', { m: 10 });
    const inputs = (await claimKind(engine, 'use')).map(({ metadata }) => metadata['n']);
    assert.deepEqual(inputs.sort(), [15, 5]);
  });

  it('read what the same generator appends before it, in whatever order it comes', async () => {
    const { engine, create, done } = await startGenerator();
    const results = await create(
      null,
      { id: 'one', kind: 'one' },
      { kind: 'use', input: { n: expr('nodes.one.result') } },
    );
    assert.deepEqual(
      results.map(({ result }) => result),
      ['created', 'created'],
    );
    await done(2);
    await finishNext(engine, 'last');
    await finishNext(engine, 'one', 3);
    assert.deepEqual((await claimKind(engine, 'use'))[0]!.metadata, { n: 3 });
  });

  it('are refused where they read what does not precede them, or is wrong', async () => {
    const { create } = await startGenerator();
    const results = await create(
      'fan',
      { kind: 'use', input: { n: expr('nodes.last.result') } },
      { kind: 'use', input: { n: expr('nodes.scan.') } },
      { kind: 'use', input: { n: expr('nodes.nobody.result') } },
      { kind: 'use', input: { n: expr('nodes.fan.state') } },
    );
    assert.deepEqual(results, [
      {
        result: 'rejected',
        reason: 'task.input.n.$expr: the node "last" does not precede this task',
        transient: false,
      },
      {
        result: 'rejected',
        reason: 'task.input.n.$expr: Expected IDENTIFIER, got EOF (character 12 of "nodes.scan.")',
        transient: false,
      },
      {
        result: 'rejected',
        reason: 'task.input.n.$expr: the workflow must have exactly one node "nobody"',
        transient: true,
      },
      {
        result: 'rejected',
        reason: 'task.input.n.$expr: the node "fan" does not precede this task',
        transient: false,
      },
    ]);
  });
});
