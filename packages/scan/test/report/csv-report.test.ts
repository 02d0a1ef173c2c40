import assert from 'node:assert/strict';
import { test } from 'node:test';

import { CsvReport } from '../../src/report/csv-report.ts';
import { finding, VERIFICATION, Written } from '../support/report/fixture.ts';

function csv(fill: (report: CsvReport) => void): string {
  const written = new Written();
  const report = new CsvReport(written);
  fill(report);
  report.end();
  return written.text;
}

/** Reads rows as RFC 4180 defines them. */
function rowsOf(text: string): string[][] {
  const cells = [...text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)];
  const rows: string[][] = [[]];
  for (const [, quoted, plain, end] of cells) {
    rows.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain!);
    if (end === '\r\n') rows.push([]);
  }
  return rows.slice(0, -1);
}

test('there is a header, also without findings, and a row for each finding', () => {
  const [header, ...none] = rowsOf(csv(() => undefined));
  assert.deepEqual(none, []);
  const commit = { id: 'a1', author: 'Ada', email: 'ada@example.org', date: '2026-01-01T00:00:00Z', subject: 's' };
  const rows = rowsOf(
    csv((report) => report.finding(finding({ secret: 'ghp_***', commit, verification: VERIFICATION }))),
  );
  assert.equal(rows.length, 2);
  assert.deepEqual(Object.fromEntries(header!.map((name, i) => [name, rows[1]![i]])), {
    rule: 'github-personal-access-token',
    confidence: 'high',
    path: 'src/app.env',
    line: '3',
    column: '7',
    secret: 'ghp_***',
    key: '',
    description: 'GitHub personal access token',
    fingerprint: '0123456789abcdef0123456789abcdef',
    commit: 'a1',
    author: 'Ada <ada@example.org>',
    date: '2026-01-01T00:00:00Z',
    secret_id: '',
    verdict: 'active',
    'verdict reason': 'GitHub accepted it at api.github.com (HTTP 200)',
    identity: 'octocat',
    permissions: 'repo gist',
  });
});

test('names stay in their cells, and none of them is a formula', () => {
  for (const path of ['a,"b"\r\nc', '"', 'x\n=1', '=HYPERLINK("x")', '@a', '-1+1', '+1', '\t=1', '\r=1']) {
    const [, row, ...more] = rowsOf(csv((report) => report.finding(finding({ path }))));
    assert.deepEqual(more, [], path);
    assert.equal(row![2], /^[=@+\-\t\r]/.test(path) ? `'${path}` : path);
  }
});
