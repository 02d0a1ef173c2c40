import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { newId } from '@heddle/base/random';
import type { NewTask } from '@heddle/base/vocabulary/task';
import { createRuns } from '@heddle/core/engine/runs/runs';
import { claimKind, newBench, newTask, type Bench } from '@heddle/test-support/engine/fixture';
import { createTestServer, type Problem, type TestServer } from '@heddle/test-support/http/server';

interface Run {
  id: string;
  type: string;
  name: string | null;
  title: string;
  state: string;
  counts: Record<string, number>;
  reason: string | null;
  failed_task: { id: string; name: string } | null;
  kinds: string[];
  started_at: string | null;
  created_at: string;
  archived: boolean;
}

interface List {
  runs: Run[];
  next: string | null;
  examined: number;
}

let bench: Bench;
let server: TestServer;

before(async () => {
  bench = await newBench();
  server = await createTestServer({ engine: bench.engine, runs: createRuns(bench.database) });
});

after(() => server.app.close());

async function get<Answer>(url: string, status = 200): Promise<Answer> {
  const response = await server.app.inject(url);
  assert.equal(response.statusCode, status, response.body);
  return response.json<Answer>();
}

async function submit(name: string | null, tasks: Partial<NewTask>[]): Promise<string> {
  const workflow_id = newId();
  const [result] = await bench.engine.submit([
    { workflow_id, name, tasks: tasks.map((task) => newTask(task)), traceparent: null, idempotency: null },
  ]);
  return result!.workflow_id;
}

async function end(kind: string, ...outcomes: ('succeeded' | 'failed' | 'timed_out')[]): Promise<void> {
  const claimed = await claimKind(bench.engine, kind, outcomes.length);
  assert.equal(claimed.length, outcomes.length);
  const reports = claimed.map((task, index) => {
    const outcome = outcomes[index]!;
    const reason = outcome === 'succeeded' ? {} : { reason: `no paper in ${index}` };
    return { task_id: task.id, attempt: task.attempt, outcome, ...reason };
  });
  await bench.engine.report(reports);
}

const idsOf = ({ runs }: List): string[] => runs.map(({ id }) => id);

test('a batch of three tasks of which two failed has not succeeded', async () => {
  const kind = 'invoice';
  const id = await submit('orders', [{ kind }, { kind, name: 'print' }, { kind }]);
  const waiting = await get<Run>(`/v1/runs/${id}`);
  assert.deepEqual([waiting.state, waiting.started_at, waiting.counts['remaining']], ['Waiting', null, 3]);
  await end(kind, 'succeeded', 'failed');
  const running = await get<Run>(`/v1/runs/${id.toUpperCase()}`);
  assert.equal(running.state, 'Running');
  await end(kind, 'timed_out');
  const run = await get<Run>(`/v1/runs/${id}`);
  assert.equal(run.state, 'PartiallyFailed');
  assert.deepEqual(run.counts, { total: 3, remaining: 0, succeeded: 1, failed: 2, canceled: 0, skipped: 0 });
  assert.deepEqual([run.failed_task?.name, run.reason], ['print', 'no paper in 1']);
  assert.deepEqual([run.type, run.title, run.kinds], ['batch', 'orders', ['invoice']]);
  assert.notEqual(run.started_at, null);
});

test('filters find runs by state, name, type, kind, metadata and time', async () => {
  const kind = 'sort';
  const good = await submit('sorted', [{ kind }]);
  await end(kind, 'succeeded');
  const bad = await submit('unsorted', [
    { kind, metadata: { shop: { city: 'Ghent' } } },
    { kind: 'sieve' },
    { kind: 'sum' },
  ]);
  await end(kind, 'failed');
  const canceled = await submit(null, [{ kind }, { kind: 'sieve' }, { kind: 'sum' }]);
  await bench.engine.cancelWorkflow(canceled);
  const ofKind = async (query: string): Promise<string[]> => idsOf(await get<List>(`/v1/runs?kind=sort&${query}`));

  assert.deepEqual(await ofKind(''), [canceled, bad, good]);
  assert.deepEqual(await ofKind('state=Succeeded'), [good]);
  assert.deepEqual(await ofKind('state=failing'), [bad]);
  assert.deepEqual(await ofKind('state=open'), [bad]);
  assert.deepEqual(await ofKind('state=Running'), [bad]);
  assert.deepEqual(await ofKind('state=Waiting'), []);
  assert.deepEqual(await ofKind('state=Canceled'), [canceled]);
  assert.deepEqual(await ofKind('name=sorted'), [good]);
  assert.deepEqual(await ofKind('q=ORT'), [bad, good]);
  assert.deepEqual(await ofKind('type=workflow'), []);
  assert.deepEqual(await ofKind('type=batch&q=un'), [bad]);
  assert.deepEqual(await ofKind(`metadata=${encodeURIComponent('{"shop":{"city":"Ghent"}}')}`), [bad]);
  assert.deepEqual(await ofKind('job=nightly'), []);
  assert.deepEqual(idsOf(await get<List>('/v1/runs?kind=unheard-of')), []);
  const { created_at } = await get<Run>(`/v1/runs/${bad}`);
  assert.deepEqual(await ofKind(`until=${created_at}`), [good]);
  assert.ok((await ofKind(`since=${created_at}`)).includes(bad));
  const { title } = await get<Run>(`/v1/runs/${canceled}`);
  assert.equal(title, 'sort, sieve and 1 more');
});

test('pages follow their cursors without a gap, also those of the archive', async () => {
  const kind = 'pages';
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1) ids.unshift(await submit('paged', [{ kind }]));
  await end(kind, 'succeeded', 'succeeded', 'succeeded');
  await bench.database.query({
    name: 'test.age',
    text: `update workflow set ended_at = now() - interval '2 hours' where name = 'paged' and ended_at is not null`,
  });
  await bench.engine.retain(1_000);
  for (const query of ['name=paged', 'kind=pages']) {
    const found: Run[] = [];
    let page = await get<List>(`/v1/runs?page_size=2&${query}`);
    for (let pages = 1; ; pages += 1) {
      found.push(...page.runs);
      if (page.next === null) break;
      assert.ok(pages < 4, 'it comes to an end');
      page = await get<List>(`/v1/runs?page_size=2&${query}&after=${page.next}`);
    }
    assert.deepEqual(
      found.map(({ id }) => id),
      ids,
    );
    assert.deepEqual(
      found.map(({ archived }) => archived),
      [false, false, true, true, true],
    );
    assert.deepEqual(
      found.map(({ state }) => state),
      ['Waiting', 'Waiting', 'Succeeded', 'Succeeded', 'Succeeded'],
    );
  }
});

test('names are listed once, by their newest run', async () => {
  const kind = 'naming';
  const first = await submit('alpha naming', [{ kind }]);
  const second = await submit('beta naming', [{ kind }]);
  await submit(null, [{ kind }]);
  const third = await submit('alpha naming', [{ kind }]);
  await end(kind, 'failed');
  type Names = { names: { name: string; last: Run; recent: { id: string; state: string }[] }[]; next: string | null };
  const all = await get<Names>('/v1/runs/names?q=NAMING');
  assert.deepEqual(
    all.names.map(({ name, last }) => [name, last.id]),
    [
      ['alpha naming', third],
      ['beta naming', second],
    ],
  );
  assert.deepEqual(
    all.names[0]!.recent.map(({ id, state }) => [id, state]),
    [
      [third, 'Waiting'],
      [first, 'Failed'],
    ],
  );
  const page = await get<Names>('/v1/runs/names?q=naming&page_size=1');
  const rest = await get<Names>(`/v1/runs/names?q=naming&page_size=1&after=${page.next}`);
  assert.deepEqual(
    rest.names.map(({ name }) => name),
    ['beta naming'],
  );
});

test('a retry makes a failed run open again', async () => {
  const kind = 'again';
  const id = await submit('again', [{ kind }, { kind }]);
  await end(kind, 'failed', 'failed');
  const { failed_task, state } = await get<Run>(`/v1/runs/${id}`);
  assert.equal(state, 'Failed');
  await bench.engine.retry([failed_task!.id]);
  const run = await get<Run>(`/v1/runs/${id}`);
  assert.deepEqual([run.state, run.counts['failed'], run.counts['remaining']], ['Running', 1, 1]);
  assert.notEqual(run.failed_task?.id, failed_task!.id);
  assert.notEqual(run.failed_task, null);
  await end(kind, 'succeeded');
  assert.equal((await get<Run>(`/v1/runs/${id}`)).state, 'PartiallyFailed');
});

test('bad filters are named', async () => {
  const problemOf = async (query: string): Promise<string> =>
    (await get<Problem>(`/v1/runs?${query}`, 400)).details[0]!;
  assert.match(await problemOf('state=Done'), /^state: .*open.*failing.*Succeeded/);
  assert.match(await problemOf('after=zero'), /^after: /);
  assert.match(await problemOf('metadata=%5B%5D'), /^metadata: must be a JSON object/);
  assert.match(await problemOf('since=2026-13-01'), /^since: /);
  assert.match(await problemOf('sort=name'), /sort/);
  assert.equal((await get<Problem>(`/v1/runs/${newId()}`, 404)).details[0]!.startsWith('run_id: '), true);
});
