import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import * as z from 'zod';

import { defineKind, into, type Node, parallel, sequential, task } from '@heddle/kit';
import { NodeEmitter } from '../../../src/dispatch/kind/node-emitter.ts';
import type { NewContainerNode, NewTaskNode } from '@heddle/base/vocabulary/workflow';
import type { NodeCreation } from '@heddle/core/engine/port';
import { newId } from '@heddle/base/random';
import { kindTask, runOnce } from '../../support/dispatch/kind/running.ts';

const work = defineKind({
  name: 'work',
  input: z.object({ n: z.number() }),
  timeout_secs: 90,
  timeout_basis: 'start',
  retry: { max_attempts: 3, backoff_secs: 2 },
  run: ({ n }) => n,
});

const inputs = (created: readonly NodeCreation[]): unknown[] =>
  created.map(({ node }) => (node as NewTaskNode).task.metadata['n']);

describe('a generator', () => {
  it('returns nodes, yields them, or emits them; all arrive in order and are counted', async () => {
    const three = [0, 1, 2];
    const generators = [
      defineKind({ name: 'ArrayGenerator', run: () => three.map((n) => task(work, { n })) }),
      defineKind({ name: 'PromiseGenerator', run: async () => Promise.resolve(three.map((n) => task(work, { n }))) }),
      defineKind({
        name: 'sync',
        *run() {
          for (const n of three) yield task(work, { n });
        },
      }),
      defineKind({
        name: 'async',
        async *run() {
          for (const n of three) yield await Promise.resolve(task(work, { n }));
        },
      }),
      defineKind({
        name: 'EmittingGenerator',
        run: async (_, { emit }) => {
          for (const n of three) await emit(task(work, { n }));
        },
      }),
    ];
    for (const generator of generators) {
      const { completion, created } = await runOnce(generator);
      assert.deepEqual(inputs(created), three, generator.name);
      assert.deepEqual([completion.outcome, completion.expected_created], ['succeeded', 3], generator.name);
    }
  });

  it('announces zero nodes if it created none', async () => {
    for (const run of [() => [], () => undefined, () => ({ found: 0 })]) {
      const { completion } = await runOnce(defineKind({ name: 'NothingGenerator', run }));
      assert.deepEqual([completion.outcome, completion.expected_created], ['succeeded', 0]);
    }
  });

  it('keeps its return value as its result', async () => {
    const kind = defineKind({
      name: 'counted',
      *run() {
        yield task(work, { n: 1 });
        return { planned: 1 };
      },
    });
    const { completion } = await runOnce(kind);
    assert.deepEqual([completion.result, completion.expected_created], [{ planned: 1 }, 1]);
  });

  it('fails and announces nothing if it throws half-way; its cleanup runs', async () => {
    let cleaned = false;
    const kind = defineKind({
      name: 'breaks',
      async *run() {
        try {
          for (let n = 0; ; n += 1) yield await Promise.resolve(task(work, { n: n < 500 ? n : ('x' as never) }));
        } finally {
          cleaned = true;
        }
      },
    });
    const { completion, created } = await runOnce(kind, {
      ports: {
        nodes: {
          send: (creations) =>
            creations.some(({ node }) => (node as NewTaskNode).task.metadata['n'] === 399)
              ? Promise.reject(new Error('the container has ended'))
              : Promise.resolve(),
        },
      },
    });
    assert.deepEqual([completion.outcome, completion.reason], ['failed', 'the container has ended']);
    assert.equal(completion.expected_created, undefined);
    assert.equal(cleaned, true);
    assert.equal(created.length, 0);
  });

  it('stops when its task is canceled', async () => {
    const stop = new AbortController();
    const kind = defineKind({
      name: 'endless',
      *run() {
        for (let n = 0; ; n += 1) {
          if (n === 1000) stop.abort(new Error('the task has ended'));
          yield task(work, { n });
        }
      },
    });
    const { completion } = await runOnce(kind, { host: { signal: stop.signal } });
    assert.deepEqual([completion.outcome, completion.reason], ['failed', 'the task has ended']);
  });

  it('gets the fault of an invalid node', async () => {
    const faulty: [unknown, RegExp][] = [
      ['text', /a node must be created by task\(\), sequential\(\) or parallel\(\)/],
      [task('', {}), /node\.kind: /],
      [task('work', {}, { priority: 0.5, policy: 'Never' as never }), /node\.policy: .*; node\.priority: /],
      [task('work', {}, { timeout: 5 } as never), /node\.timeout: is not a known member; did you mean "timeout_secs"/],
      [parallel([task('work', { at: new Date(0) as never })]), /the input of a work\.at: is a Date/],
      [
        parallel([task('work'), task('work', {}, { retry: { max_attempts: 0 } })]),
        /node\.children\[1\]\.retry\.max_attempts: /,
      ],
      [task('work', [] as never), /node\.input: /],
      [task('work', { text: 'x'.repeat(70_000) }), /has 70011 bytes as JSON; at most 65536 are allowed/],
      [parallel(Array.from({ length: 1000 }, () => task('work'))), /at most 1000 nodes/],
    ];
    for (const [node, reason] of faulty) {
      const { completion } = await runOnce(defineKind({ name: 'FaultyGenerator', run: () => [node] }));
      assert.equal(completion.outcome, 'failed');
      assert.match(completion.reason!, reason);
    }
  });
});

describe('the nodes of a generator', () => {
  it('use the defaults of their definition, overridden by the options', async () => {
    const kind = defineKind({
      name: 'OptionsGenerator',
      run: () => [
        task(work, { n: 1 }),
        task(
          work,
          { n: 2 },
          { name: 'second', timeout_secs: 5, priority: 7, delay_secs: 1.5, policy: 'ContinueOnFailure' },
        ),
        task(work, { n: 3 }, { timeout_basis: 'activity' }),
        task('HostGenerator', {}, { local_id: 'hosts', disabled: true }),
      ],
    });
    const { created } = await runOnce(kind);
    const [first, second, active, third] = created.map(({ node }) => node as NewTaskNode);
    assert.deepEqual(
      [first!.task.name, first!.task.timeout_secs, first!.task.retry?.base_ms, first!.generates, first!.policy],
      ['work', 90, 2000, false, 'FailOnFailure'],
    );
    assert.deepEqual(
      [second!.task.name, second!.task.timeout_secs, second!.task.priority, second!.task.delay_ms, second!.policy],
      ['second', 5, 7, 1500, 'ContinueOnFailure'],
    );
    assert.deepEqual(
      [first, second, active, third].map((node) => node!.task.deadline_basis),
      ['start', 'start', 'activity', 'activity'],
    );
    assert.deepEqual(
      [third!.task.name, third!.task.local_id, third!.generates, third!.disabled],
      ['hosts', 'hosts', true, true],
    );
  });

  it('are placed by node, by key, or by a name of the submission', async () => {
    const kind = defineKind({
      name: 'placing',
      *run() {
        const box = parallel([], { key: 'box' });
        const inner = sequential([]);
        yield box;
        yield parallel([inner]);
        yield into(box, task('by node'));
        yield into('box', task('by key'));
        yield into(inner, task('inside'));
        yield into('workers', task('by name'));
        yield task('at home');
      },
    });
    const { created } = await runOnce(kind);
    const [box, outer, ...tasks] = created;
    const inner = (outer!.node as NewContainerNode).children[0] as NewContainerNode;
    const boxId = (box!.node as NewContainerNode).id;
    assert.deepEqual(
      tasks.map(({ parent }) => parent),
      [boxId, boxId, inner.id, 'workers', null],
    );
  });

  it('cannot be added to a container that was not created before', async () => {
    const kind = defineKind({ name: 'EarlyGenerator', run: () => [into(parallel([]), task('work'))] });
    assert.match((await runOnce(kind)).completion.reason!, /must be created by this generator before it/);
  });

  it('have the same ids when the generator runs again, however far it got before', async () => {
    const plan = (): Node[] => [
      ...Array.from({ length: 30 }, (_, n) => task(work, { n })),
      parallel([sequential([task(work, { n: 100 })]), task(work, { n: 101 }, { key: 'named' })]),
      task(work, { n: 102 }, { key: 'last' }),
    ];
    const kind = defineKind({ name: 'PlanGenerator', run: plan });
    const died = defineKind({
      name: 'PlanGenerator',
      *run() {
        yield* plan().slice(0, 17);
        throw new Error('killed');
      },
    });
    const generator = { id: newId() };
    const partly: NodeCreation[] = [];
    const sink = (into: NodeCreation[]) => ({
      nodes: { send: (set: readonly NodeCreation[]) => Promise.resolve(void into.push(...set)) },
    });
    const emitter = new NodeEmitter({
      generatorId: generator.id,
      attempt: 1,
      sink: { ...sink(partly).nodes, batchNodes: 5 },
    });
    for (const node of plan().slice(0, 17)) await emitter.add(node);
    assert.equal((await runOnce(died, { task: generator })).completion.outcome, 'failed');
    const first = await runOnce(kind, { task: generator });
    const again = await runOnce(kind, { task: { ...generator, attempt: 2 } });
    assert.deepEqual(
      again.created,
      first.created.map((creation) => ({ ...creation, attempt: 2 })),
    );
    assert.deepEqual(partly, first.created.slice(0, partly.length));
    assert.ok(partly.length >= 15);
    const ids = new Set(first.created.flatMap(({ node }) => idsOf(node)));
    assert.equal(ids.size, 30 + 4 + 1);
    const other = await runOnce(kind);
    assert.ok(other.created.every(({ node }) => idsOf(node).every((id) => !ids.has(id))));
  });

  it('keep the ids of their keys when others are added or removed', async () => {
    const generator = kindTask('KeyGenerator');
    const idByKey = async (keys: readonly string[]): Promise<Map<string, string>> => {
      const kind = defineKind({ name: 'KeyGenerator', run: () => keys.map((key) => task(work, { n: 1 }, { key })) });
      const { created } = await runOnce(kind, { task: generator });
      return new Map(created.map(({ node }, index) => [keys[index]!, idsOf(node)[0]!]));
    };
    const before = await idByKey(['a', 'b', 'c']);
    const after = await idByKey(['c', 'new', 'a']);
    assert.equal(after.get('a'), before.get('a'));
    assert.equal(after.get('c'), before.get('c'));
    const twice = defineKind({
      name: 'TwiceGenerator',
      run: () => [task('x', {}, { key: 'a' }), task('x', {}, { key: 'a' })],
    });
    assert.match((await runOnce(twice)).completion.reason!, /two nodes have the key "a"/);
  });

  it('stream: of 100,000 only a few batches are ever in memory, and a slow sink slows the generator', async () => {
    const generatorId = newId();
    let stored = 0;
    let underWay = 0;
    let underWayMax = 0;
    let ahead = 0;
    let made = 0;
    const sink = {
      send: async (creations: readonly NodeCreation[]) => {
        underWayMax = Math.max(underWayMax, (underWay += 1));
        await new Promise((resolve) => setImmediate(resolve));
        stored += creations.length;
        underWay -= 1;
      },
    };
    const emitter = new NodeEmitter({ generatorId, attempt: 1, sink });
    for (let n = 0; n < 100_000; n += 1) {
      made += 1;
      ahead = Math.max(ahead, made - stored);
      await emitter.add(task(work, { n }));
    }
    assert.equal(await emitter.close(), 100_000);
    assert.equal(stored, 100_000);
    assert.equal(underWayMax, 2);
    assert.ok(emitter.highWater <= 3 * 200, `${emitter.highWater} nodes were in memory`);
    assert.ok(ahead <= 3 * 200 + 1, `the generator was ${ahead} nodes ahead`);
  });
});

function idsOf(node: NodeCreation['node']): string[] {
  return node.type === 'task' ? [node.task.id] : [node.id, ...node.children.flatMap(idsOf)];
}
