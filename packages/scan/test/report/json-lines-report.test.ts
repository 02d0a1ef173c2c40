import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { Compile } from 'typebox/schema';

import type { Verification } from '@heddle/base/vocabulary/verdict';
import type { Commit, Problem, TaskMetrics } from '../../src/result.ts';
import { JsonLinesReport } from '../../src/report/json-lines-report.ts';
import { PROBLEM_WORDS } from '../../src/report/problem-words.ts';
import type { BaselineCounts, ReportedFinding, ReportSummary, VerdictCounts } from '../../src/report/report.ts';
import { finding, summary, VERIFICATION, Written } from '../support/report/fixture.ts';

interface ObjectSchema {
  properties: Record<string, { enum?: string[]; properties?: Record<string, unknown>; items?: { enum?: string[] } }>;
  required: string[];
}

const SCHEMA_PATH = join(import.meta.dirname, '../../../../docs/scanning/report.schema.json');
const SCHEMA = JSON.parse(readFileSync(SCHEMA_PATH, 'utf8')) as { oneOf: [ObjectSchema, ObjectSchema, ObjectSchema] };
const line = Compile(SCHEMA);

const COMMIT: Commit = { id: 'a'.repeat(40), author: 'A', email: 'a@b.c', date: '2026-01-01T00:00:00Z', subject: 's' };
const VERDICTS: VerdictCounts = { active: 1, inactive: 0, unknown: 2, not_shown: 2 };
const PROBLEM: Problem = { code: 'encrypted', path: 'a.zip', message: 'm', extent: 'skipped' };

function written(fill: (report: JsonLinesReport) => void): Record<string, unknown>[] {
  const sink = new Written();
  fill(new JsonLinesReport(sink));
  assert.ok(sink.text.endsWith('\n'));
  return sink.lines.slice(0, -1).map((text) => JSON.parse(text) as Record<string, unknown>);
}

test('every line matches the schema and has a type', () => {
  const evil = 'a\n\u0000\u2028\ud800"';
  const lines = written((report) => {
    report.finding(finding({ path: evil, match: evil, encodings: ['utf-16be', 'base64'] }));
    report.finding(finding({ commit: COMMIT, verification: VERIFICATION }));
    for (const code of Object.keys(PROBLEM_WORDS)) report.problem({ ...PROBLEM, code: code as Problem['code'] });
    report.end(summary({ outcome: 'aborted', reason: 'why', baseline: { known: 1, gone: 2 }, verdicts: VERDICTS }));
  });
  assert.deepEqual(new Set(lines.map(({ type }) => type)), new Set(['finding', 'problem', 'summary']));
  for (const each of lines) assert.ok(line.Check(each), JSON.stringify(each));
});

test('the schema rejects anything else', () => {
  const [one] = written((report) => report.problem(PROBLEM));
  for (const other of [{ ...one, code: 'other' }, { ...one, extra: 1 }, { ...one, type: 'finding' }, {}]) {
    assert.equal(line.Check(other), false, JSON.stringify(other));
  }
});

test('the schema has exactly the members of the types', () => {
  type Names<T> = Record<keyof T, true>;
  const finding: Names<ReportedFinding> = {
    rule_id: true,
    description: true,
    tags: true,
    path: true,
    line: true,
    column: true,
    end_line: true,
    end_column: true,
    offset: true,
    length: true,
    match: true,
    secret: true,
    entropy: true,
    encodings: true,
    confidence: true,
    confidence_reason: true,
    key_path: true,
    key_name: true,
    fingerprint: true,
    secret_id: true,
    commit: true,
    context: true,
    verification: true,
  };
  const problem: Names<Problem> = { code: true, path: true, message: true, extent: true };
  const end: Names<ReportSummary> = {
    outcome: true,
    reason: true,
    findings: true,
    below_confidence: true,
    problems: true,
    reported: true,
    secrets: true,
    ignored: true,
    verdicts: true,
    baseline: true,
    metrics: true,
    frontier_peak: true,
    duration_ms: true,
  };
  const commit: Names<Commit> = {
    id: true,
    author: true,
    email: true,
    date: true,
    subject: true,
    repository: true,
    url: true,
  };
  const baseline: Names<BaselineCounts> = { known: true, gone: true };
  const verification: Names<Verification> = {
    verdict: true,
    reason: true,
    checked_at: true,
    identity: true,
    permissions: true,
  };
  const verdicts: Names<VerdictCounts> = { active: true, inactive: true, unknown: true, not_shown: true };
  const [findings, problems, summaries] = SCHEMA.oneOf;
  assert.deepEqual(Object.keys(findings.properties), ['type', ...Object.keys(finding)]);
  assert.deepEqual(Object.keys(problems.properties), ['type', ...Object.keys(problem)]);
  assert.deepEqual(Object.keys(summaries.properties).sort(), ['type', ...Object.keys(end)].sort());
  assert.deepEqual(Object.keys(findings.properties['commit']!.properties!), Object.keys(commit));
  assert.deepEqual(Object.keys(findings.properties['verification']!.properties!), Object.keys(verification));
  assert.deepEqual(Object.keys(summaries.properties['verdicts']!.properties!), Object.keys(verdicts));
  assert.deepEqual(Object.keys(summaries.properties['baseline']!.properties!), Object.keys(baseline));
  const metrics: (keyof TaskMetrics)[] = Object.keys(summary().metrics) as (keyof TaskMetrics)[];
  assert.deepEqual(Object.keys(summaries.properties['metrics']!.properties!), metrics);
  assert.deepEqual(problems.properties['code']!.enum, Object.keys(PROBLEM_WORDS));
});
