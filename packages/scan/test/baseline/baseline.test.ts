import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Baseline } from '../../src/baseline/baseline.ts';
import { IgnoreList } from '../../src/baseline/ignore-list.ts';
import { readBaseline } from '../../src/baseline/read-baseline.ts';
import { BaselineCollector } from '../../src/baseline/write-baseline.ts';
import { finding, SECRET, Written } from '../support/report/fixture.ts';

const OTHER = 'f'.repeat(32);

function written(...findings: Parameters<BaselineCollector['add']>[0][]): string {
  const collector = new BaselineCollector();
  for (const each of findings) collector.add(each);
  const sink = new Written();
  collector.writeTo(sink);
  return sink.text;
}

test('a written baseline matches each finding as often as it occurred', () => {
  const text = written(finding(), finding({ line: 9 }), finding({ fingerprint: OTHER }));
  const baseline = new Baseline(readBaseline('b.json', text));
  assert.deepEqual(baseline.counts, { known: 0, gone: 3 });
  assert.equal(baseline.take(finding({ line: 100 })), true);
  assert.equal(baseline.take(finding({ line: 200 })), true);
  assert.equal(baseline.take(finding({ line: 300 })), false, 'a third one is new');
  assert.deepEqual(baseline.counts, { known: 2, gone: 1 });
});

test('it contains no secrets and does not depend on the order of findings', () => {
  const one = finding();
  const two = finding({ fingerprint: OTHER, path: 'a' });
  assert.equal(written(one, two), written(two, one));
  assert.equal(written(one, two).includes(SECRET), false);
  assert.deepEqual(JSON.parse(written()), { heddle_baseline: 1, findings: [] });
});

test('a JSON Lines report is a baseline too', () => {
  const line = JSON.stringify({ type: 'finding', ...finding({ secret: 'ghp_***' }) });
  const baseline = new Baseline(readBaseline('r.jsonl', `${line}\n${JSON.stringify({ type: 'summary' })}\n`));
  assert.equal(baseline.take(finding()), true);
});

test('a gitleaks report matches by secret and path, or by location if it is redacted', () => {
  const leak = {
    RuleID: 'github-pat',
    File: 'app.env',
    StartLine: 3,
    Secret: SECRET,
    Fingerprint: 'app.env:github-pat:3',
  };
  const redacted = { ...leak, RuleID: 'github-personal-access-token', Secret: 'REDACTED' };
  for (const entry of [leak, redacted]) {
    const baseline = new Baseline(readBaseline('g.json', JSON.stringify([entry])), ['./src/']);
    assert.equal(baseline.take(finding({ path: 'lib/app.env' })), false);
    assert.equal(baseline.take(finding()), true);
    assert.deepEqual(baseline.counts, { known: 1, gone: 0 });
  }
});

test('invalid baselines are rejected with the fault and its position', () => {
  const faults: [string, RegExp][] = [
    ['', /b\.json is empty; write a baseline with --write-baseline/],
    ['{', /b\.json is not valid JSON/],
    ['{}', /b\.json is not a baseline/],
    ['"x"', /b\.json is not a baseline/],
    ['{"heddle_baseline":2,"findings":[]}', /version 2, but this Heddle reads 1/],
    ['{"heddle_baseline":1,"findings":{}}', /findings: must be an array/],
    ['{"heddle_baseline":1,"findings":[{"fingerprint":"x"}]}', /findings\[0\]\.fingerprint: must be 32/],
    [`{"heddle_baseline":1,"findings":[{"fingerprint":"${OTHER}","count":0}]}`, /findings\[0\]\.count: must be/],
    ['[{"RuleID":"a"}]', /\[0\]: has no RuleID or no File/],
    ['[3]', /\[0\]: must be a gitleaks finding/],
    ['{"type":"finding"\nx', /line 1 is not valid JSON/],
  ];
  for (const [text, message] of faults) {
    assert.throws(() => readBaseline('b.json', text), { name: 'UnusableFile', message }, text);
  }
});

test('an ignore list matches fingerprints, with comments and in any case', () => {
  const list = new IgnoreList();
  const text = `# why\n${finding().fingerprint.toUpperCase()}  # a test key\r\n\n`;
  assert.deepEqual(list.addText('.heddleignore', text), []);
  assert.equal(list.has(finding({ line: 77 })), true);
  assert.equal(list.has(finding({ fingerprint: OTHER })), false);
});

test('a gitleaks ignore list matches locations, relative to the scanned directories, with or without a commit', () => {
  const id = 'a1'.repeat(20);
  const commit = { id, author: 'A', email: 'a@example.com', date: '2026-01-01T00:00:00Z', subject: 's' };
  const list = new IgnoreList(['repo']);
  const text = `cmd/a.go:rule-a:12\n${id}:b.zip!c.txt:rule-b:3\n`;
  assert.deepEqual(list.addText('.gitleaksignore', text), []);
  assert.equal(list.has(finding({ path: 'repo/cmd/a.go', rule_id: 'rule-a', line: 12 })), true);
  assert.equal(list.has(finding({ path: 'repo/cmd/a.go', rule_id: 'rule-a', line: 13 })), false);
  assert.equal(list.has(finding({ path: 'b.zip!c.txt', rule_id: 'rule-b', line: 3, commit })), true);
  assert.equal(list.has(finding({ path: 'b.zip!c.txt', rule_id: 'rule-b', line: 3 })), false);
});

test('invalid lines are reported', () => {
  const faults = new IgnoreList().addText('.heddleignore', 'nonsense\n# fine\nabc:def\n');
  assert.deepEqual(
    faults.map((fault) => fault.split(': ')[0]),
    ['.heddleignore, line 1', '.heddleignore, line 3'],
  );
});
