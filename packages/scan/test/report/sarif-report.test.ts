import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { loadRules } from '../../src/detect/rules/load-rules.ts';
import type { Finding, Problem } from '../../src/result.ts';
import type { ReportedFinding, ReportSummary } from '../../src/report/report.ts';
import { SarifReport } from '../../src/report/sarif-report.ts';
import { artifactUri } from '../../src/report/sarif-uri.ts';
import { finding, SECRET, summary, Written } from '../support/report/fixture.ts';
import { assertSarif, type Sarif } from '@heddle/test-support/scan/report/sarif-structure';

const directory = mkdtempSync(join(tmpdir(), 'heddle-sarif-'));
after(() => rmSync(directory, { recursive: true }));

function sarif(findings: ReportedFinding[], problems: Problem[] = [], end: Partial<ReportSummary> = {}): Sarif {
  const text = sarifText(findings, problems, end);
  const document: unknown = JSON.parse(text);
  assertSarif(document);
  return document;
}

function sarifText(findings: ReportedFinding[], problems: Problem[] = [], end: Partial<ReportSummary> = {}): string {
  const written = new Written();
  const report = new SarifReport({ sink: written, version: '1.2.3', workingDirectory: directory });
  for (const each of findings) report.finding(each);
  for (const each of problems) report.problem(each);
  report.end(summary({ reported: findings.length, ...end }));
  return written.text;
}

test('a clean scan is a successful run without results', () => {
  const [run] = sarif([]).runs;
  assert.deepEqual(run!.results, []);
  assert.equal(run!.invocations[0]!.executionSuccessful, true);
  assert.equal(run!.tool.driver.name, 'Heddle');
  assert.equal(run!.columnKind, 'utf16CodeUnits');
});

test('results name their rule by id and index; each rule is listed once, with help', () => {
  const [run] = sarif([finding(), finding({ rule_id: 'other' }), finding({ line: 8, end_line: 8 })]).runs;
  const { rules } = run!.tool.driver;
  assert.deepEqual(
    rules.map(({ id }) => id),
    ['github-personal-access-token', 'other'],
  );
  assert.ok(rules.every(({ help }) => help.text.length > 20));
  for (const { ruleId, ruleIndex } of run!.results) assert.equal(rules[ruleIndex]!.id, ruleId);
  assert.deepEqual(run!.results[0]!.partialFingerprints, { 'heddleFingerprint/v1': finding().fingerprint });
});

test('rule metadata is always valid: tags unique and few, a name other than the id, a description', () => {
  const tags = ['secret', ...Array.from({ length: 30 }, (_, index) => `tag-${index}`)];
  const findings = ['internal-token', 'InternalToken', '...'].map((rule_id) =>
    finding({ rule_id, tags, description: '', secret: '' }),
  );
  const { rules } = sarif([...findings, finding({ rule_id: 'long', description: 'a'.repeat(3000) })]).runs[0]!.tool
    .driver;
  assert.deepEqual(
    rules.map(({ name }) => name),
    ['InternalToken', undefined, undefined, 'Long'],
  );
});

test('a repeated tag is listed once, for built-in rules too', () => {
  const toml = `[[rules]]\nid = "a"\nregex = "a"\ntags = ["x", "y", "x"]\n`;
  const options = { confidence: 'medium' as const, decodeDepth: 0, inlineIgnores: true, ruleTimeoutMs: 1000 };
  const own = loadRules({ ...options, rules: [{ name: 'own', toml }] });
  assert.deepEqual(own.rules[0]!.tags, ['x', 'y']);
  sarif(loadRules({ ...options, rules: [] }).rules.map(({ id, tags }) => finding({ rule_id: id, tags: [...tags] })));
});

test('columns count UTF-16 units; the byte order mark of a file counts as none', () => {
  const path = join(directory, 'wide.txt');
  const line = `\ufeffgrüße 😀 ${SECRET} end`;
  writeFileSync(path, line);
  const offset = Buffer.byteLength(line.slice(0, line.indexOf(SECRET)));
  const column = offset + 1;
  const at = { path, line: 1, end_line: 1, offset, column, length: SECRET.length, end_column: column + SECRET.length };
  const [run] = sarif([finding(at)]).runs;
  const { region } = run!.results[0]!.locations[0]!.physicalLocation;
  const start = line.slice(1).indexOf(SECRET) + 1;
  assert.deepEqual([region.startColumn, region.endColumn], [start, start + SECRET.length]);
  assert.deepEqual([region.byteOffset, region.byteLength], [offset, SECRET.length]);
});

test('in UTF-16 files two bytes are a column', () => {
  const path = join(directory, 'utf16.txt');
  writeFileSync(path, Buffer.from(`\ufeffkey ${SECRET}\n`, 'utf16le'));
  const offset = 2 + 8;
  const length = SECRET.length * 2;
  const at = { path, line: 1, end_line: 1, offset, length, column: offset + 1, end_column: offset + 1 + length };
  const [run] = sarif([finding({ ...at, encodings: ['utf-16le'] })]).runs;
  const { region } = run!.results[0]!.locations[0]!.physicalLocation;
  assert.deepEqual([region.startColumn, region.endColumn], [5, 5 + SECRET.length]);
});

test('if the line cannot be read again, the region is whole lines, never a wrong column', () => {
  const commit = {
    id: 'a'.repeat(40),
    author: 'A',
    email: 'a@example.com',
    date: '2026-01-01T00:00:00Z',
    subject: 's',
  };
  const [run] = sarif([finding({ path: 'a.zip!b.txt' }), finding({ commit, path: join(directory, 'wide.txt') })]).runs;
  for (const { locations } of run!.results) {
    const { region } = locations[0]!.physicalLocation;
    assert.deepEqual([region.startLine, region.startColumn, region.endColumn], [3, undefined, undefined]);
  }
});

test('problems are notifications of the invocation; an aborted scan did not succeed', () => {
  const problems: Problem[] = [
    { code: 'encrypted', path: 'a.zip', message: 'it needs a password', extent: 'skipped' },
    { code: 'special_file', path: 'fifo', message: 'a pipe', extent: 'notice' },
  ];
  const [run] = sarif([], problems, { outcome: 'aborted', reason: 'a budget ended' }).runs;
  const { executionSuccessful, toolExecutionNotifications: notifications } = run!.invocations[0]!;
  assert.equal(executionSuccessful, false);
  assert.deepEqual(
    notifications.map(({ level, message }) => [level, message.text]),
    [
      ['warning', 'it needs a password'],
      ['note', 'a pipe'],
      ['error', 'a budget ended'],
    ],
  );
});

test('the same scan gives the same bytes, independent of time and duration', () => {
  const problem: Problem = { code: 'encrypted', path: 'a.zip', message: 'm', extent: 'skipped' };
  assert.equal(sarifText([finding()], [problem]), sarifText([finding()], [problem], { duration_ms: 99 }));
});

test('results are written as they arrive, and findings are not kept', () => {
  const written = new Written();
  const report = new SarifReport({ sink: written, version: '1.2.3', workingDirectory: directory });
  for (let index = 0; index < 3; index += 1) {
    const before = written.text.length;
    report.finding(finding({ line: index + 1, end_line: index + 1 }));
    assert.ok(written.text.length > before);
  }
});

test('locations are URIs: relative ones stay relative, names are escaped, outside paths are absolute', () => {
  assert.equal(artifactUri('./a b/ü#?%.txt', '/work'), 'a%20b/%C3%BC%23%3F%25.txt');
  assert.equal(artifactUri('c:d/e', '/work'), 'c%3Ad/e');
  assert.equal(artifactUri('../x/y', '/work/z'), pathToFileURL('/work/x/y').href);
  assert.equal(artifactUri('/etc/passwd', '/work'), 'file:///etc/passwd');
  assert.equal(artifactUri('s3://bucket/a b', '/work'), 's3://bucket/a%20b');
  assert.equal(artifactUri('a.zip!b/../c\ud800', '/work'), pathToFileURL('/work/a.zip!b/../c\ufffd').href);
});

test('the lines around a secret are the context of its region', () => {
  const context = [
    { number: 2, text: 'first' },
    { number: 3, text: 'TOKEN=ghp_***', mark: { start: 0, end: 13 } },
  ];
  const physical = (changes: Partial<Finding>) =>
    sarif([finding(changes)]).runs[0]!.results[0]!.locations[0]!.physicalLocation;
  assert.deepEqual(physical({ context, end_line: 5 }).contextRegion, {
    startLine: 2,
    endLine: 5,
    snippet: { text: 'first\nTOKEN=ghp_***' },
  });
  assert.equal(physical({}).contextRegion, undefined);
});
