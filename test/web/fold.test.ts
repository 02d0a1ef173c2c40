/** Which tasks of a batch are one node of its graph, without a browser. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { BasicTask, Dag, Link } from '@heddle/client';
import { FOLD_MIN, foldEqual } from '../../web/src/dag/fold.ts';
import { FoldedGraph } from '../../web/src/dag/folded-graph.ts';
import { TaskStore } from '../../web/src/dag/task-store.ts';
import { fixtureId } from '../support/web/fixture-batches.ts';

interface Made {
  name: string;
  kind: string;
  /** Places of its parents. */
  parents: number[];
  optional?: boolean;
}

function dagOf(made: readonly Made[]): Dag {
  const tasks = made.map(
    ({ name, kind }, i) =>
      ({
        ...{ id: fixtureId(1, i), name, kind, status: 'Pending', success: 0, failures: 0, expected_count: null },
        ...{ started_at: null, ended_at: null, last_updated: '2026-05-04T10:00:00Z', failure_reason: null },
      }) as unknown as BasicTask,
  );
  const links = made.flatMap(({ parents, optional = false }, i) =>
    parents.map((parent): Link => ({
      parent_id: fixtureId(1, parent),
      child_id: fixtureId(1, i),
      requires_success: !optional,
    })),
  );
  return { batch: {} as Dag['batch'], tasks, links };
}

function load(made: readonly Made[]): { store: TaskStore; graph: FoldedGraph } {
  const store = new TaskStore();
  const graph = new FoldedGraph(store);
  store.replace(dagOf(made));
  return { store, graph };
}

/** One task, a number of equal ones after it, and one after those. */
function fan(count: number, more: (i: number) => Partial<Made> = () => ({})): Made[] {
  const parts = Array.from({ length: count }, (_, i) => ({
    name: `Part ${i}`,
    kind: 'part',
    parents: [0],
    ...more(i),
  }));
  const all = parts.map((_, i) => i + 1);
  return [{ name: 'Plan', kind: 'plan', parents: [] }, ...parts, { name: 'Join', kind: 'join', parents: all }];
}

function shape({ graph }: { graph: FoldedGraph }): { names: string[]; edges: number[] } {
  const { nodes, edges } = graph.structure();
  assert.equal(graph.size, nodes.length);
  return {
    names: nodes.map((node) =>
      node.type === 'group' ? `${node.group.name} × ${node.group.members.length}` : node.task.name,
    ),
    edges: [...edges],
  };
}

test('a fan of equal tasks is three nodes, whatever its width', () => {
  const wide = load(fan(10_000));
  assert.deepEqual(shape(wide), { names: ['Plan', 'Part … × 10000', 'Join'], edges: [0, 1, 1, 2] });
  assert.deepEqual(wide.graph.structure().required, [true, true]);
});

test('few equal tasks, a diamond and a chain stay as they are', () => {
  const few = fan(FOLD_MIN - 1);
  assert.equal(shape(load(few)).names.length, few.length);
  const diamond: Made[] = [
    { name: 'a', kind: 'x', parents: [] },
    { name: 'b', kind: 'x', parents: [0] },
    { name: 'c', kind: 'x', parents: [0] },
    { name: 'd', kind: 'x', parents: [1, 2] },
  ];
  assert.deepEqual(shape(load(diamond)), { names: ['a', 'b', 'c', 'd'], edges: [0, 1, 0, 2, 1, 3, 2, 3] });
  const chain = Array.from({ length: 50 }, (_, i) => ({ name: `${i}`, kind: 'x', parents: i === 0 ? [] : [i - 1] }));
  assert.equal(shape(load(chain)).names.length, 50);
});

test('what differs in its kind, its dependencies or their condition is in another group', () => {
  const count = 3 * FOLD_MIN;
  const kinds = load(fan(count, (i) => ({ kind: i % 3 === 0 ? 'other' : 'part', name: `Item ${i}` })));
  assert.deepEqual(shape(kinds).names, ['Plan', `Item … × ${FOLD_MIN}`, `Item … × ${2 * FOLD_MIN}`, 'Join']);
  const conditions = load(fan(count, (i) => ({ optional: i % 2 === 0 })));
  assert.equal(shape(conditions).names.length, 4);
  const alone = load(fan(count, (i) => (i === 7 ? { parents: [] } : {})));
  assert.deepEqual(shape(alone).names, ['Plan', `Part … × ${count - 1}`, 'Part 7', 'Join']);
});

test('a group with other names has that of its kind; an opened one shows its tasks', () => {
  const mixed = load(fan(FOLD_MIN, (i) => ({ name: 'x'.repeat(i + 1) })));
  const group = mixed.graph.groupOf(fixtureId(1, 1))!;
  assert.equal(group.name, 'part');
  assert.equal(mixed.graph.nodeOf(fixtureId(1, 5)), group.id);
  mixed.graph.setUnfolded(group.id, true);
  assert.equal(shape(mixed).names.length, FOLD_MIN + 2);
  assert.equal(mixed.graph.nodeOf(fixtureId(1, 5)), fixtureId(1, 5));
  mixed.graph.setUnfolded(group.id, false);
  assert.equal(shape(mixed).names.length, 3);
});

test('a change of states changes the tally of the group, not the fold', () => {
  const { store, graph } = load(fan(100));
  const group = graph.groupOf(fixtureId(1, 1))!;
  const wire = (i: number, status: string): BasicTask => ({
    ...dagOf(fan(100)).tasks[i]!,
    status: status as BasicTask['status'],
    last_updated: '2026-05-04T10:00:01Z',
  });
  store.apply([wire(1, 'Success'), wire(2, 'Failure'), wire(101, 'Running')]);
  assert.deepEqual(graph.tally(group.id), { pending: 98, succeeded: 1, failed: 1 });
  assert.deepEqual(store.tally, { pending: 99, succeeded: 1, failed: 1, running: 1 });
  assert.equal(graph.groupOf(fixtureId(1, 1)), group);
  store.apply([{ ...wire(1, 'Running'), last_updated: '2026-05-04T09:00:00Z' }]);
  assert.deepEqual(graph.tally(group.id), { pending: 98, succeeded: 1, failed: 1 }, 'an older change is ignored');
});

test('every task is in one node, and the tasks of a group are alike', () => {
  const graphs = fc.array(
    fc.record({
      name: fc.constantFrom('a 1', 'a 2', 'b'),
      kind: fc.constantFrom('x', 'y'),
      parents: fc.uniqueArray(fc.nat(3), { maxLength: 2 }),
    }),
    { minLength: 4, maxLength: 200 },
  );
  fc.assert(
    fc.property(graphs, (random) => {
      const made = random.map((each, i) => (i < 4 ? { ...each, parents: [] } : each));
      const dag = dagOf(made);
      const { groups, groupOf } = foldEqual({
        tasks: new Map(dag.tasks.map((task) => [task.id, task])),
        links: dag.links,
      });
      for (const { id, members } of groups.values()) {
        const alike = new Set(members.map((member) => likeness(made, Number.parseInt(member.slice(-12), 16))));
        assert.equal(alike.size, 1);
        for (const member of members) assert.equal(groupOf.get(member), id);
      }
      const counts = new Map<string, number>();
      made.forEach((_, i) => counts.set(likeness(made, i), (counts.get(likeness(made, i)) ?? 0) + 1));
      const expected = [...counts.values()].filter((count) => count >= FOLD_MIN);
      assert.deepEqual([...groups.values()].map(({ members }) => members.length).sort(), expected.sort());
    }),
  );
});

/** What must be equal: the kind, the parents, the children. */
function likeness(made: readonly Made[], place: number): string {
  const children = made.flatMap(({ parents }, i) => (parents.includes(place) ? [i] : []));
  return JSON.stringify([made[place]!.kind, [...made[place]!.parents].sort(), children]);
}
