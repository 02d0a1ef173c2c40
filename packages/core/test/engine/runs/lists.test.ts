import assert from 'node:assert/strict';
import { before, test } from 'node:test';

import { eventually } from '@heddle/test-support/eventually';
import { storeManyRuns } from '@heddle/test-support/engine/many-runs';
import { createTestDatabase } from '@heddle/test-support/postgres';
import type { RunQuery, Runs } from '../../../src/engine/runs/port.ts';
import { createRuns } from '../../../src/engine/runs/runs.ts';
import type { Database, Statement } from '../../../src/store/database.ts';

const RUNS = 12_000;

let database: Database;
let runs: Runs;

before(async () => {
  ({ database } = await createTestDatabase());
  await storeManyRuns(database, { runs: RUNS, tasks_per_run: 3 });
  runs = createRuns(database);
});

const FLUSH: Statement = { name: 'test.flush', text: 'select pg_stat_force_next_flush()' };
const SCANS: Statement = {
  name: 'test.scans',
  text: `select coalesce(sum(seq_tup_read), 0)::bigint as scanned, coalesce(sum(idx_scan), 0)::bigint as by_index
    from pg_stat_user_tables where relname in ('workflow', 'archive_workflow', 'task', 'archive_task')`,
};

async function scans(): Promise<{ scanned: number; by_index: number }> {
  await Promise.all(Array.from({ length: 10 }, () => database.query(FLUSH)));
  return (await database.query<{ scanned: number; by_index: number }>(SCANS))[0]!;
}

const QUERIES: RunQuery[] = [
  {},
  { state: 'open' },
  { state: 'waiting' },
  { state: 'failing' },
  { state: 'partially_failed' },
  { state: 'canceled' },
  { state: 'succeeded' },
  { name: 'nightly 42' },
  { q: 'weekly' },
  { type: 'workflow' },
  { type: 'batch' },
  { kind: 'parse' },
  { job: 'nightly' },
  { metadata: { shop: -1 } },
  { since: Date.now() - 3_600_000 },
  { until: Date.now() - 86_400_000 },
];

test('no list reads runs or tasks as a whole', async () => {
  const start = await scans();
  for (const query of QUERIES) {
    const first = await runs.list(query, { after: null, limit: 10 });
    if (first.next !== null) await runs.list(query, { after: first.next, limit: 10 });
  }
  await runs.names('42', { after: null, limit: 10 });
  await runs.grid('nightly 42', 20);
  await runs.search('nightly', 5);
  const end = await eventually(async () => {
    const answer = await scans();
    return answer.by_index - start.by_index > 500 && answer;
  }, 'the statistics of all connections have arrived');
  assert.equal(end.scanned - start.scanned, 0);
});

test('a search without an index ends its page after 5,000 runs, and goes on from there', async () => {
  const found: number[] = [];
  let after: string | null = null;
  for (let pages = 0; pages < 4; pages += 1) {
    const page = await runs.list({ q: 'weekly' }, { after, limit: 10 });
    assert.deepEqual(page.runs, []);
    found.push(page.examined);
    after = page.next;
    if (after === null) break;
  }
  assert.deepEqual(found, [5_000, 5_000, 2_000]);
});

test('every run is on one page of its list, in the order of ids, whatever the page', async () => {
  for (const query of [{ state: 'failing' }, { kind: 'parse', q: 'nightly 1' }] as const) {
    const ids: string[] = [];
    let after: string | null = null;
    do {
      const page = await runs.list(query, { after, limit: 100 });
      ids.push(...page.runs.map(({ id }) => id));
      after = page.next;
    } while (after !== null);
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual(ids, [...ids].sort().reverse());
    // One in 50 failed; a tenth of the even ones is called so, of which two thirds have the kind.
    if ('state' in query) assert.equal(ids.length, RUNS / 50);
    else assert.ok(ids.length > 300, `${ids.length} runs`);
  }
});

test('a search for metadata ends its page after 100,000 tasks at most', async () => {
  const page = await runs.list({ metadata: { shop: 7 } }, { after: null, limit: 50 });
  assert.deepEqual([page.runs.length, page.examined], [5, 5_000]);
});
