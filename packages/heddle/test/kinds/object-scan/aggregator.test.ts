/** The aggregator on a real database, including interruptions at any point. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';

import type { ReportedFinding } from '@heddle/core/domain/finding';
import type { TaskResult } from '@heddle/base/vocabulary/workflow';
import { pagedResults } from '../../../src/dispatch/kind/result-stream.ts';
import { objectScanAggregator } from '../../../src/kinds/object-scan/aggregator.ts';
import type { ScanTaskResult } from '../../../src/kinds/object-scan/task-result.ts';
import { newId } from '@heddle/base/random';
import type { Database } from '@heddle/core/store/database';
import { resultsOf, runOnce } from '../../support/dispatch/kind/running.ts';
import { findingsOf, reported } from '@heddle/test-support/engine/findings/reported';
import { CrashingDatabase, type CrashPoint } from '@heddle/test-support/reliability/crashing-database';
import { createTestDatabase } from '@heddle/test-support/postgres';

type Json = TaskResult['data'];

const METRICS = {
  enumerate_count: 1,
  objects_discovered: 10,
  enumerate_backpressure: 2,
  fetch_sync_count: 11,
  bytes_fetched: 1200,
  scan_count: 12,
  bytes_scanned: 1000,
  objects_completed: 10,
};

const sumOf = (count: number): Record<string, number> =>
  Object.fromEntries(Object.entries(METRICS).map(([name, value]) => [name, value * count]));

function scanned(findings: readonly ReportedFinding[], extra: Partial<ScanTaskResult> = {}): Json {
  const result: ScanTaskResult = {
    outcome: 'complete',
    findings,
    chunks: 0,
    attempt: 1,
    finding_count: findings.length,
    findings_lost: 0,
    objects: 10,
    bytes: 1000,
    problem_count: 0,
    problems: [],
    duration_ms: 5,
    metrics: METRICS,
    ...extra,
  };
  return result as unknown as Json;
}

function resultsIn(results: readonly TaskResult[]) {
  return pagedResults((_task, after, limit) => {
    const from = after === null ? 0 : results.findIndex(({ task_id }) => task_id === after) + 1;
    return Promise.resolve(results.slice(from, from + limit));
  });
}

const range = (from: number, to: number): ReportedFinding[] =>
  Array.from({ length: to - from }, (_, n) => reported(from + n));

describe('the aggregator of scans', () => {
  let database: Database;

  before(async () => {
    ({ database } = await createTestDatabase());
  });

  /** Runs one attempt of one run. */
  async function aggregate(
    target: string,
    results: readonly TaskResult[],
    { id = newId(), on = database }: { id?: string; on?: Database } = {},
  ) {
    const definition = objectScanAggregator({ books: findingsOf(on) });
    const ports = { results: resultsIn(results) };
    const { completion } = await runOnce(definition, { input: { target }, task: { id }, ports });
    return completion;
  }

  const scans = (...data: Json[]): TaskResult[] =>
    resultsOf(data.length, (n) => data[n]!).map((result) => ({ ...result, kind: 'ObjectScan' }));

  it("merges its siblings' findings and reports what is new, known and gone", async () => {
    const target = 'plain';
    await aggregate(target, scans(scanned(range(0, 5)), scanned(range(5, 8))));
    const other = resultsOf(1, () => ({ tasks: 2 })).map((each) => ({ ...each, kind: 'ObjectScanGenerator' }));
    const { outcome, result } = await aggregate(target, [...scans(scanned(range(3, 10))), ...other]);
    assert.equal(outcome, 'succeeded');
    assert.deepEqual(result, {
      target,
      run: 2,
      complete: true,
      new: 2,
      known: 5,
      gone: 3,
      by_rule: [{ rule_id: 'made-up-token', new: 2, known: 5, gone: 3 }],
      objects: 10,
      bytes: 1000,
      problems: 0,
      metrics: METRICS,
      incomplete: [],
    });
  });

  it('sums the step counters, treats those of older workers as absent, and rejects invalid ones', async () => {
    const { metrics: _, ...older } = scanned([]) as Record<string, Json>;
    const sum = await aggregate('counters', scans(scanned([]), scanned([]), older));
    assert.deepEqual((sum.result as Record<string, Json>)['metrics'], sumOf(2));
    const bad = { ...METRICS, scan_count: -1 };
    const { outcome, reason } = await aggregate('counters', scans(scanned([], { metrics: bad })));
    assert.equal(outcome, 'failed');
    assert.match(reason!, /metrics\.scan_count must be an integer from 0$/);
  });

  it('declares nothing gone if a scan left something out, and names it', async () => {
    await aggregate('left', scans(scanned(range(0, 3))));
    const problem = { code: 'unreadable', path: 'a/b', message: 'permission denied', extent: 'skipped' } as const;
    const partial = scanned([], { outcome: 'incomplete', problems: [problem], problem_count: 1 });
    const { result } = await aggregate('left', scans(scanned(range(0, 1)), partial));
    const { complete, gone, known, incomplete } = result as Record<string, Json>;
    assert.deepEqual([complete, gone, known], [false, 0, 1]);
    assert.match((incomplete as string[])[0]!, /: a\/b: permission denied$/);
  });

  it('fails without changes if no scan precedes it, or a result is invalid', async () => {
    await aggregate('nothing', scans(scanned(range(0, 2))));
    const empty = await aggregate('nothing', []);
    assert.match(empty.reason!, /no ObjectScan precedes this task/);
    const odd = await aggregate('nothing', scans({ rows: 3 }));
    assert.match(odd.reason!, /is not an ObjectScan result$/);
    const forged = await aggregate('nothing', scans(scanned([{ ...reported(1), fingerprint: "'; --" }])));
    assert.match(forged.reason!, /has no fingerprint, rule, path or count$/);
    const endless = [{ number: 1, text: 'x'.repeat(20_000) }];
    for (const context of [endless, [{ number: 'one', text: '' }], [null], 'text']) {
      const finding = { ...reported(1), context } as unknown as ReportedFinding;
      const { reason } = await aggregate('nothing', scans(scanned([finding])));
      assert.match(reason!, /has a context that is not a list of lines with numbers$/);
    }
    const { result } = await aggregate('nothing', scans(scanned(range(0, 2))));
    assert.deepEqual([(result as Record<string, Json>)['known'], (result as Record<string, Json>)['gone']], [2, 0]);
  });

  it('reads findings that exceed a result, chunk by chunk', async () => {
    const books = findingsOf(database);
    const [result] = scans(scanned(range(5, 6), { chunks: 2, attempt: 3 }));
    const key = { task_id: result!.task_id, attempt: 3 };
    await books.putChunk({ ...key, ordinal: 0 }, range(0, 3));
    await books.putChunk({ ...key, ordinal: 1 }, range(3, 5));
    await books.putChunk({ ...key, attempt: 2, ordinal: 0 }, range(90, 99));
    const merged = (await aggregate('chunks', [result!])).result as Record<string, Json>;
    assert.deepEqual([merged['new'], merged['complete']], [6, true]);
    const lost = (await aggregate('chunks', scans(scanned([], { chunks: 1 })))).result as Record<string, Json>;
    assert.deepEqual([lost['gone'], lost['complete']], [0, false]);
  });

  it('has the same outcome, wherever and however often it is interrupted', async () => {
    const results = scans(scanned(range(100, 700)), scanned(range(700, 1300)), scanned(range(1000, 1350)));
    const books = async (target: string): Promise<unknown> =>
      database.query(
        {
          name: 'test.books',
          text: `select f.state, f.runs, f.first_run, f.last_run, f.gone_run, count(*) as n from recon.findings f
            join recon.scan_target t on t.id = f.target_id where t.name = $1 group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5`,
        },
        [target],
      );
    const first = scans(scanned(range(0, 800)));
    const counting = new CrashingDatabase(database, null, () => Promise.reject(new Error('never')));
    await aggregate('expected', first);
    const expected = (await aggregate('expected', results, { on: counting })).result as Record<string, Json>;
    const expectedBooks = await books('expected');
    const points = [...counting.calls].flatMap(([statement, calls]) =>
      Array.from({ length: calls }, (_, n) => n + 1).flatMap((call): CrashPoint[] => [
        { statement, call, when: 'before' },
        { statement, call, when: 'after' },
      ]),
    );
    assert.ok(points.length >= 20, `${points.length} points`);
    for (const point of points) {
      const target = `${point.statement} ${point.call} ${point.when}`;
      await aggregate(target, first);
      const id = newId();
      const on = new CrashingDatabase(database, point, () => Promise.reject(new Error('it died')));
      const dead = await aggregate(target, results, { id, on });
      assert.equal(dead.reason, 'it died', target);
      const { result } = await aggregate(target, results, { id });
      assert.deepEqual(result, { ...expected, target }, target);
      assert.deepEqual(await books(target), expectedBooks, target);
    }
  });
});
