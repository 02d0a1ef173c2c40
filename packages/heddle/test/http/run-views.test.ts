import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { newId } from '@heddle/base/random';
import type { NewTask } from '@heddle/base/vocabulary/task';
import { createRuns } from '@heddle/core/engine/runs/runs';
import { claimKind, newBench, newTask, type Bench } from '@heddle/test-support/engine/fixture';
import { finishNext, par, seq, submitTree } from '@heddle/test-support/engine/flow/tree';
import { createTestServer, type Problem, type TestServer } from '@heddle/test-support/http/server';

interface Row {
  type: string;
  id: string | null;
  parent_id: string | null;
  name: string;
  kind: string | null;
  state: string;
  tasks: number;
  tally: Record<string, number>;
  ready_at: string | null;
  ended_at: string | null;
  attempts: { attempt: number; outcome: string | null }[];
  critical: boolean;
}

interface Timeline {
  run: { id: string; state: string };
  until: string | null;
  rows: Row[];
  left_out: number;
  critical_ms: number;
}

interface Grid {
  runs: { id: string }[];
  tasks: { key: string; name: string; kind: string }[];
  cells: ({ task_id: string; state: string; duration_ms: number | null; count: number } | null)[][];
  tasks_left_out: number;
  partial: boolean;
}

let bench: Bench;
let server: TestServer;

before(async () => {
  bench = await newBench();
  const executors = { list: () => [{ executor: 'ghent' } as never] };
  server = await createTestServer({ engine: bench.engine, runs: createRuns(bench.database), executors });
});

after(() => server.app.close());

async function get<Answer>(url: string, status = 200): Promise<Answer> {
  const response = await server.app.inject(url);
  assert.equal(response.statusCode, status, response.body);
  return response.json<Answer>();
}

async function submit(name: string | null, tasks: Partial<NewTask>[]): Promise<string> {
  const workflow_id = newId();
  await bench.engine.submit([
    { workflow_id, name, tasks: tasks.map((task) => newTask(task)), traceparent: null, idempotency: null },
  ]);
  return workflow_id;
}

async function endNext(kind: string, outcome: 'succeeded' | 'failed'): Promise<void> {
  const [task] = await claimKind(bench.engine, kind, 1);
  await bench.engine.report([{ task_id: task!.id, attempt: task!.attempt, outcome }]);
}

const after_ = (...indexes: number[]): NewTask['dependencies'] =>
  indexes.map((index) => ({ index, requires_success: true }));

test('the critical path of a batch leads through the dependencies that ended last', async () => {
  const id = await submit('diamond', [
    { kind: 'first', name: 'first' },
    { kind: 'quick', name: 'quick', dependencies: after_(0) },
    { kind: 'slow', name: 'slow', dependencies: after_(0) },
    { kind: 'last', name: 'last', dependencies: after_(1, 2) },
  ]);
  await endNext('first', 'succeeded');
  const open = await get<Timeline>(`/v1/runs/${id}/timeline`);
  assert.deepEqual([open.until, open.critical_ms], [null, 0]);
  assert.ok(open.rows.every(({ critical }) => !critical));
  for (const kind of ['quick', 'slow', 'last']) await endNext(kind, 'succeeded');
  const timeline = await get<Timeline>(`/v1/runs/${id}/timeline`);
  assert.equal(timeline.run.state, 'Succeeded');
  assert.deepEqual(
    timeline.rows.map(({ name, critical }) => [name, critical]),
    [
      ['first', true],
      ['quick', false],
      ['slow', true],
      ['last', true],
    ],
  );
  assert.deepEqual(
    timeline.rows[0]!.attempts.map(({ attempt, outcome }) => [attempt, outcome]),
    [[1, 'succeeded']],
  );
});

test('in a tree every step of a sequence is critical, and of parallel nodes the one that ended last', async () => {
  const task = (kind: string): { kind: string; id: string } => ({ kind, id: kind });
  const id = await submitTree(
    bench.engine,
    seq(task('t1'), { ...par(task('t2'), { ...seq(task('t3'), task('t4')), id: 'inner' }), id: 'fan' }, task('t5')),
  );
  for (const kind of ['t1', 't2', 't3', 't4', 't5']) await finishNext(bench.engine, kind);
  const { rows } = await get<Timeline>(`/v1/runs/${id}/timeline`);
  const critical = rows.filter((row) => row.critical).map(({ kind, name }) => kind ?? name);
  assert.deepEqual(critical.sort(), ['fan', 'inner', 'sequence', 't1', 't3', 't4', 't5']);
  const inner = rows.find(({ name }) => name === 'inner')!;
  assert.equal(rows.find(({ kind }) => kind === 't3')!.parent_id, inner.id);
});

test('equal siblings beyond 50 are one group; failed ones have rows of their own', async () => {
  const kind = 'part';
  const id = await submit(
    'wide',
    Array.from({ length: 120 }, (_, n) => ({ kind, name: `part ${n} of 120` })),
  );
  const claimed = await claimKind(bench.engine, kind, 120);
  await bench.engine.report(
    claimed.map(({ id: task_id, attempt }, n) => ({ task_id, attempt, outcome: n >= 117 ? 'failed' : 'succeeded' })),
  );
  const { rows, left_out } = await get<Timeline>(`/v1/runs/${id}/timeline`);
  const groups = rows.filter(({ type }) => type === 'group');
  assert.deepEqual([rows.length, groups.length, left_out], [51, 1, 0]);
  const [group] = groups;
  assert.deepEqual([group!.name, group!.kind, group!.tasks, group!.state], ['part # of #', kind, 70, 'Succeeded']);
  assert.deepEqual(group!.tally, { Succeeded: 70 });
  assert.equal(rows.filter(({ type, state }) => type === 'task' && state === 'Failed').length, 3);
});

test('earlier attempts are in the timeline', async () => {
  const kind = 'flaky';
  const retry = { max_attempts: 2, base_ms: 0, factor: 1, max_ms: 0, jitter: 0 };
  const id = await submit('flaky', [{ kind, retry }]);
  await endNext(kind, 'failed');
  await endNext(kind, 'succeeded');
  const { rows } = await get<Timeline>(`/v1/runs/${id}/timeline`);
  assert.deepEqual(
    rows[0]!.attempts.map(({ attempt, outcome }) => [attempt, outcome]),
    [
      [1, 'failed'],
      [2, 'succeeded'],
    ],
  );
});

test('a grid has a row for each task that runs have in common', async () => {
  const tasks = (parts: number): Partial<NewTask>[] => [
    { kind: 'fetch', local_id: 'fetch', name: 'Fetch' },
    ...Array.from({ length: parts }, (_, n) => ({ kind: 'piece', name: `piece ${n}` })),
  ];
  const older = await submit('grid', tasks(2));
  const newer = await submit('grid', [...tasks(3), { kind: 'sum', local_id: 'sum', name: 'Sum' }]);
  await endNext('fetch', 'succeeded');
  await endNext('piece', 'failed');
  const grid = await get<Grid>('/v1/runs/grid?name=grid');
  assert.deepEqual(
    grid.runs.map(({ id }) => id),
    [newer, older],
  );
  assert.deepEqual(
    grid.tasks.map(({ name, kind }) => [name, kind]),
    [
      ['Fetch', 'fetch'],
      ['piece #', 'piece'],
      ['Sum', 'sum'],
    ],
  );
  const shown = grid.cells.map((row) => row.map((cell) => (cell === null ? null : [cell.state, cell.count])));
  assert.deepEqual(shown, [
    [
      ['Pending', 1],
      ['Succeeded', 1],
    ],
    [
      ['Pending', 3],
      ['Failed', 2],
    ],
    [['Pending', 1], null],
  ]);
  assert.deepEqual([grid.tasks_left_out, grid.partial], [0, false]);
  assert.deepEqual((await get<Grid>('/v1/runs/grid?name=none')).runs, []);
  assert.match((await get<Problem>('/v1/runs/grid', 400)).details[0]!, /^name/);
});

test('a search finds runs, tasks, kinds and executors by name, and runs by the beginning of their ids', async () => {
  interface Search {
    results: { type: string; id: string; title: string; detail: string | null; state: string | null }[];
    tasks_examined: number;
  }
  const id = await submit('Ghent orders', [{ kind: 'ghent-kind', name: 'ghent task' }]);
  const { results, tasks_examined } = await get<Search>('/v1/search?q=GHENT');
  assert.deepEqual(
    results.map(({ type, title, state }) => [type, title, state]),
    [
      ['run', 'Ghent orders', 'Waiting'],
      ['task', 'ghent task', 'Pending'],
      ['kind', 'ghent-kind', null],
      ['executor', 'ghent', null],
    ],
  );
  assert.ok(tasks_examined > 0);
  const byId = await get<Search>(`/v1/search?q=${id.slice(0, 20).toUpperCase()}`);
  assert.ok(byId.results.some((result) => result.type === 'run' && result.id === id));
  assert.deepEqual((await get<Search>(`/v1/search?q=${encodeURIComponent('%_')}`)).results, []);
  assert.match((await get<Problem>('/v1/search', 400)).details[0]!, /^q/);
  assert.equal((await get<Problem>(`/v1/runs/${newId()}/timeline`, 404)).code, 'NOT_FOUND');
});
