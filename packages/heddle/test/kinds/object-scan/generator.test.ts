/** The generator of scans: parts that cover everything, and no duplicate tasks. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import type { JsonObject } from '@heddle/base/json';
import type { NodeCreation } from '@heddle/core/engine/port';
import { EnumCursor } from '@heddle/scan/graph/cursor';
import type { SourceSpec } from '@heddle/scan/options';
import { openSource } from '@heddle/scan/source/open-source';
import { newId } from '@heddle/base/random';
import { runOnce, type RunOptions } from '../../support/dispatch/kind/running.ts';
import { scanKinds } from '../../support/kinds/object-scan/kinds.ts';
import { Tree } from '../../support/kinds/object-scan/planted.ts';

describe('the generator of scans', () => {
  let tree: Tree;

  before(() => {
    const files = Array.from({ length: 120 }, (_, n) => [`d${n % 7}/e${n % 3}/f${n}.txt`, 'x'.repeat(n)] as const);
    tree = new Tree(Object.fromEntries(files));
  });

  after(() => tree.remove());

  const sources = (): JsonObject => ({ sources: [{ type: 'path', path: tree.root }] });

  function generate(input: JsonObject, options: RunOptions = {}) {
    return runOnce(scanKinds(tree.root, null).generator, { input: { ...sources(), ...input }, ...options });
  }

  /** Returns what the created tasks will scan, in order. */
  async function pathsOf(created: readonly NodeCreation[]): Promise<string[]> {
    const found: string[] = [];
    for (const { node } of created) {
      assert.ok(node.type === 'task');
      for (const spec of node.task.metadata['sources'] as unknown as SourceSpec[]) {
        const source = await openSource(spec);
        for (let cursor = EnumCursor.start(); !cursor.isDone;) {
          const batch = await source.enumerate(cursor, 10);
          found.push(...batch.objects.map(({ path }) => path.slice(tree.root.length + 1)));
          cursor = batch.cursor;
        }
      }
    }
    return found;
  }

  it('divides a directory into parts that cover all of it', async () => {
    const { completion, created, counted } = await generate({ partition: { objects_max: 25 } });
    assert.equal(completion.outcome, 'succeeded', completion.reason);
    assert.deepEqual(completion.result, { tasks: 5, objects: 120, bytes: (120 * 119) / 2 });
    assert.equal(completion.expected_created, 5);
    assert.equal(
      counted.reduce((sum, [successes]) => sum + successes, 0),
      120,
    );
    const paths = await pathsOf(created);
    assert.equal(new Set(paths).size, 120);
    assert.equal(paths.length, 120);
    tree.write('d3/e1/between', 'new');
    tree.write('zzz/last', 'new');
    assert.equal((await pathsOf(created)).length, 122, 'later files belong to one of them');
    tree.delete('d3/e1/between');
    tree.delete('zzz');
  });

  it('limits the bytes of a task, and the number of tasks: the last one takes the rest', async () => {
    const bytes = await generate({ partition: { bytes_max: 1000 } });
    assert.ok(bytes.created.length >= 8 && bytes.created.length <= 14, `${bytes.created.length} tasks`);
    assert.equal((await pathsOf(bytes.created)).length, 120);
    const few = await generate({ partition: { objects_max: 1, tasks_max: 3 } });
    assert.equal(few.created.length, 3);
    assert.equal((await pathsOf(few.created)).length, 120);
    const two = [
      { type: 'path', path: `${tree.root}/d1` },
      { type: 'path', path: `${tree.root}/d2` },
      ...(sources()['sources'] as JsonObject[]),
    ];
    const several = await generate({ sources: two, partition: { objects_max: 5, tasks_max: 4 } });
    assert.equal(several.created.length, 4);
    assert.equal((await pathsOf(several.created)).length, 120 + 17 + 17);
  });

  it('creates tasks in the requested container, with the requested settings', async () => {
    const options = { exclude: ['d1', 'd2'], decode_depth: 0 };
    const task = {
      timeout_secs: 120,
      timeout_basis: 'start',
      policy: 'ContinueOnPartialFailure',
      retry: { max_attempts: 2 },
    };
    const { created, completion } = await generate({ options, into: 'scans', task });
    assert.equal(completion.outcome, 'succeeded', completion.reason);
    assert.equal(created.length, 1);
    const [{ node, parent }] = created as [NodeCreation];
    assert.ok(node.type === 'task');
    assert.deepEqual(
      [parent, node.policy, node.task.kind, node.task.timeout_secs, node.task.deadline_basis],
      ['scans', 'ContinueOnPartialFailure', 'ObjectScan', 120, 'start'],
    );
    assert.equal(node.task.retry?.max_attempts, 2);
    assert.deepEqual(node.task.metadata, { ...sources(), options });
    assert.equal((completion.result as JsonObject)['objects'], 120 - 34);
  });

  it('creates each task once if it is killed halfway', async () => {
    const id = newId();
    const stored = new Map<string, number>();
    let remaining = 20;
    const nodes = {
      batchNodes: 5,
      underWayMax: 1,
      send: (creations: readonly NodeCreation[]) => {
        for (const { node } of creations) {
          if (remaining === 0) return Promise.reject(new Error('it died'));
          remaining -= 1;
          stored.set(
            node.type === 'task' ? node.task.id : '',
            (stored.get(node.type === 'task' ? node.task.id : '') ?? 0) + 1,
          );
        }
        return Promise.resolve();
      },
    };
    const input = { partition: { objects_max: 2 } };
    const dead = await generate(input, { task: { id }, ports: { nodes } });
    assert.equal(dead.completion.outcome, 'failed');
    assert.equal(stored.size, 20);
    remaining = 1000;
    const whole = await generate(input, { task: { id, attempt: 2 }, ports: { nodes } });
    assert.equal(whole.completion.expected_created, 60);
    assert.equal(stored.size, 60, 'the tasks of the first attempt are among those of the second');
  });

  it('leaves nothing out when it runs again after changes', async () => {
    const id = newId();
    const before = await generate({ partition: { objects_max: 10 } }, { task: { id } });
    tree.delete('d0');
    tree.write('d5/aaa', 'new');
    const later = await generate({ partition: { objects_max: 10 } }, { task: { id, attempt: 2 } });
    const byId = new Map(
      [...before.created, ...later.created].map((each) => [each.node.type === 'task' ? each.node.task.id : '', each]),
    );
    const union = new Set(await pathsOf([...byId.values()]));
    const all = new Set(await pathsOf((await generate({})).created));
    assert.deepEqual(
      [...all].filter((path) => !union.has(path)),
      [],
    );
  });

  it('rejects forbidden and missing sources', async () => {
    const refused = await generate({ sources: [{ type: 'path', path: '/etc' }] });
    assert.match(refused.completion.reason!, /^\/etc may not be read/);
    assert.equal(refused.created.length, 0);
    const missing = await generate({ sources: [{ type: 'path', path: `${tree.root}/nowhere` }] });
    assert.match(missing.completion.reason!, /does not exist/);
  });
});
