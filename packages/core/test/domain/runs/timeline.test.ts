import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';

import { TASK_STATES } from '@heddle/base/vocabulary/task-state';
import {
  EQUAL_SIBLINGS_MAX,
  TIMELINE_ROWS_MAX,
  TimelineFold,
  type TimelineContainer,
  type TimelineRow,
  type TimelineTask,
} from '../../../src/domain/runs/timeline.ts';

function task(n: number, change: Partial<TimelineTask> = {}): TimelineTask {
  return {
    id: `task ${n}`,
    container_id: null,
    dependencies: '',
    name: `part ${n}`,
    kind: 'work',
    state: 'succeeded',
    attempt: 1,
    critical: false,
    created_at: n,
    ready_at: n,
    claimed_at: n,
    started_at: n,
    ended_at: n + 1,
    ...change,
  };
}

function container(id: string, parent_id: string | null, name = id): TimelineContainer {
  return { id, parent_id, name, state: 'succeeded', critical: false, created_at: 0, started_at: 0, ended_at: 1 };
}

function folded(tasks: readonly TimelineTask[], containers: readonly TimelineContainer[] = []) {
  const fold = new TimelineFold(containers);
  for (const each of tasks) fold.add(each);
  return fold.finish();
}

const tasksIn = (rows: readonly TimelineRow[]): number =>
  rows.reduce((sum, row) => sum + (row.type === 'group' ? row.tasks : row.type === 'task' ? 1 : 0), 0);

const tasks = fc.array(
  fc.record({
    kind: fc.constantFrom('fetch', 'parse'),
    state: fc.constantFrom(...TASK_STATES),
    critical: fc.boolean(),
    dependencies: fc.constantFrom('', '1:7', '2:9'),
    container_id: fc.constantFrom('root', 'a', 'b', 'unknown'),
  }),
  { maxLength: 400 },
);
const tree = [container('root', null), container('a', 'root', 'branch 1'), container('b', 'root', 'branch 2')];

test('every task is in one row or group, or counted as left out', () => {
  fc.assert(
    fc.property(tasks, fc.boolean(), (changes, inTree) => {
      const all = changes.map((change, n) => task(n, { ...change, ...(inTree ? {} : { container_id: null }) }));
      const { rows, left_out } = folded(all, inTree ? tree : []);
      assert.equal(tasksIn(rows) + left_out, all.length);
      const unknown = inTree ? all.filter(({ container_id }) => container_id === 'unknown').length : 0;
      assert.equal(left_out, unknown);
      for (const row of rows) {
        if (row.type !== 'group') continue;
        assert.equal(
          Object.values(row.tally).reduce((sum, n) => sum + n, 0),
          row.tasks,
        );
      }
    }),
  );
});

test('a sibling is only in a group if 50 that matter at least as much have rows', () => {
  fc.assert(
    fc.property(tasks, (changes) => {
      const all = changes.map((change, n) => task(n, { ...change, container_id: null }));
      const { rows } = folded(all);
      const classOf = ({ dependencies, kind }: { dependencies: string; kind: string }): string =>
        `${dependencies} ${kind}`;
      const sizes = new Map<string, number>();
      for (const each of all) sizes.set(classOf(each), (sizes.get(classOf(each)) ?? 0) + 1);
      for (const [name, size] of sizes) {
        const alone = rows.filter((row) => row.type === 'task' && classOf(row) === name);
        assert.equal(alone.length, Math.min(size, EQUAL_SIBLINGS_MAX));
        const isMatter = (each: { critical: boolean }): boolean => each.critical;
        const critical = all.filter((each) => classOf(each) === name && each.critical).length;
        assert.equal(alone.filter((row) => row.type === 'task' && isMatter(row)).length, Math.min(critical, 50));
      }
    }),
  );
});

test('the order in which tasks arrive does not matter for what is left out', () => {
  fc.assert(
    fc.property(tasks, (changes) => {
      const all = changes.map((change, n) => task(n, change));
      const summary = (given: readonly TimelineTask[]): unknown => {
        const { rows, left_out } = folded(given, tree);
        return [rows.length, left_out, rows.filter(({ critical }) => critical).length > 0];
      };
      assert.deepEqual(summary(all), summary(all.toReversed()));
    }),
  );
});

test('100,000 tasks of as many kinds of siblings keep to the bound, the critical ones first', () => {
  const fold = new TimelineFold();
  for (let n = 0; n < 100_000; n += 1) {
    fold.add(task(n, { dependencies: `1:${n % 15_000}`, critical: n % 100 === 0 }));
  }
  const { rows, left_out } = fold.finish();
  assert.ok(rows.length <= TIMELINE_ROWS_MAX, `${rows.length} rows`);
  assert.equal(tasksIn(rows) + left_out, 100_000);
  const single = rows.filter(({ type }) => type === 'task');
  assert.ok(single.length >= 900, `${single.length} tasks have rows`);
  assert.ok(single.filter(({ critical }) => critical).length >= single.length * 0.9);
});

test('containers beyond 50 equal siblings are a group of the tasks in them, at any depth', () => {
  const branches = Array.from({ length: 120 }, (_, n) => container(`b${n}`, 'root', `branch ${n}`));
  const inner = branches.map(({ id }) => container(`${id} inner`, id, 'inner'));
  const all = inner.map(({ id }, n) => task(n, { container_id: id, state: n === 119 ? 'failed' : 'succeeded' }));
  const { rows, left_out } = folded(all, [container('root', null), ...branches, ...inner]);
  assert.equal(left_out, 0);
  const groups = rows.filter((row) => row.type === 'group');
  assert.equal(groups.length, 1);
  assert.deepEqual(
    [groups[0]!.name, groups[0]!.kind, groups[0]!.tasks, groups[0]!.state],
    ['branch #', null, 70, 'failed'],
  );
  assert.equal(rows.filter((row) => row.type === 'container').length, 101);
});
