import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';

import { TASK_STATES, isTerminal } from '@heddle/base/vocabulary/task-state';
import { gridOf, type GridTask } from '../../../src/domain/runs/grid.ts';

const task = fc.record({
  local_id: fc.constantFrom(null, 'fetch', 'sum'),
  name: fc.constantFrom('part 1', 'part 22', 'total'),
  kind: fc.constantFrom('work', 'rest'),
  state: fc.constantFrom(...TASK_STATES),
});

let n = 0;
const runs = fc.array(fc.array(task, { maxLength: 20 }), { maxLength: 6 }).map((list) =>
  list.map((tasks) =>
    tasks.map((each): GridTask => ({
      ...each,
      id: `${(n += 1)}`,
      started_at: n,
      ended_at: isTerminal(each.state) ? n + 5 : null,
    })),
  ),
);

test('each task of each run is counted in one cell of its column', () => {
  fc.assert(
    fc.property(runs, (columns) => {
      const { rows, cells, rows_left_out } = gridOf(columns, 200);
      assert.equal(rows_left_out, 0);
      assert.equal(new Set(rows.map(({ key }) => key)).size, rows.length);
      for (const [column, tasks] of columns.entries()) {
        const counted = cells.reduce((sum, row) => sum + (row[column]?.count ?? 0), 0);
        assert.equal(counted, tasks.length);
      }
      for (const row of cells) {
        assert.ok(
          row.some((cell) => cell !== null),
          'no row is empty',
        );
        for (const [column, cell] of row.entries()) {
          if (cell === null) continue;
          assert.equal(columns[column]!.find(({ id }) => id === cell.task_id)!.state, cell.state);
        }
      }
    }),
  );
});

test('rows beyond the bound are counted', () => {
  const tasks = Array.from({ length: 30 }, (_, at): GridTask => ({
    id: `${at}`,
    local_id: `node-${at}`,
    name: 'x',
    kind: 'work',
    state: 'succeeded',
    started_at: 1,
    ended_at: 4,
  }));
  const grid = gridOf([tasks, tasks.slice(0, 3)], 10);
  assert.deepEqual([grid.rows.length, grid.rows_left_out], [10, 20]);
  assert.deepEqual(grid.cells[0], [
    { task_id: '0', state: 'succeeded', duration_ms: 3, count: 1 },
    { task_id: '0', state: 'succeeded', duration_ms: 3, count: 1 },
  ]);
  assert.equal(grid.cells[9]![1], null);
});
