import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Paint } from '../../src/report/report.ts';
import { TextReport } from '../../src/report/text-report.ts';
import { visible } from '../../src/report/visible.ts';
import { finding, summary, Written } from '../support/report/fixture.ts';

const plain: Paint = (_style, text) => text;

function report(): { written: Written; report: TextReport } {
  const written = new Written();
  return { written, report: new TextReport(written, { paint: plain, withSummary: true, withContext: false }) };
}

test('findings are blocks under their file, with a location that terminals can open', () => {
  const { written, report: text } = report();
  text.finding(finding({ secret: 'ghp_***', match: 'TOKEN=ghp_***' }));
  text.finding(finding({ line: 9, secret: 'ghp_***', match: 'ghp_***' }));
  text.finding(finding({ key_path: 'spec.env[3].value', key_name: 'TOKEN', confidence: 'medium' }));
  text.finding(finding({ path: 'b.zip!c.txt', encodings: ['base64', 'url'] }));
  text.end(summary({ reported: 4, findings: 4, below_confidence: 2 }));
  assert.match(written.text, /^ {4}key +spec\.env\[3\]\.value \(TOKEN\)$/m);
  assert.match(written.text, /^ {4}confidence +medium: the value itself has the form of the rule, with "ghp_"$/m);
  assert.match(written.text, /^ {2}less certain, not reported: 2 findings \(see --confidence\)$/m);
  assert.equal(written.lines.filter((line) => line === 'src/app.env').length, 1);
  assert.match(written.text, /^ {4}at +src\/app\.env:3:7$/m);
  assert.match(written.text, /^ {4}at +src\/app\.env:9:7$/m);
  assert.match(written.text, /^\nb\.zip!c\.txt$/m);
  assert.match(written.text, /encoded +base64, then url/);
  assert.match(written.text, /fingerprint 0123456789abcdef0123456789abcdef/);
  assert.match(written.text, /✖ 4 secrets in 2 objects, 4\.8 MiB in 1\.5 s \(3\.3 MB\/s\)/);
});

test('names and contents cannot control the terminal', () => {
  const { written, report: text } = report();
  const evil = 'a\u001b]0;owned\u0007\u001b[2J\r\n\u202egnp.exe\u0000\u009b31m';
  text.finding(
    finding({
      path: evil,
      match: evil,
      secret: evil,
      description: evil,
      rule_id: evil,
      key_path: evil,
      confidence_reason: evil,
    }),
  );
  text.problem({ code: 'unreadable', path: evil, message: evil, extent: 'skipped' });
  text.end(summary({ reported: 1, outcome: 'aborted', reason: evil }));
  assert.doesNotMatch(written.text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  assert.match(written.text, /a\\e\]0;owned\\x07\\e\[2J\\r\\n\\u202egnp\.exe\\x00\\x9b31m/);
});

test('unpaired surrogates are escaped, pairs stay', () => {
  assert.equal(visible('\ud83d|😀|\ude00'), '\\ud83d|😀|\\ude00');
});

test('a scan of nothing does not say that there are no secrets', () => {
  const { written, report: text } = report();
  const whole = summary();
  text.end({ ...whole, metrics: { ...whole.metrics, objects_completed: 0, bytes_scanned: 0 } });
  assert.match(written.text, /^! nothing was scanned$/m);
  assert.doesNotMatch(written.text, /no secrets/);
});

test('problems are grouped by reason with advice, a few listed, the others counted', () => {
  const { written, report: text } = report();
  for (let index = 0; index < 7; index += 1) {
    text.problem({ code: 'encrypted', path: `${index}.zip`, message: 'it needs a password', extent: 'skipped' });
  }
  text.problem({ code: 'entry_bytes_budget', path: 'a.zip!b', message: 'it is large', extent: 'partial' });
  text.problem({ code: 'special_file', path: 'fifo', message: 'a pipe', extent: 'notice' });
  text.end(summary({ outcome: 'incomplete' }));
  assert.match(written.text, /! 8 problems: not everything was scanned/);
  assert.match(written.text, /encrypted: 7 \(unpack them/);
  assert.match(written.text, /4\.zip: it needs a password/);
  assert.doesNotMatch(written.text, /5\.zip/);
  assert.match(written.text, /and 2 more/);
  assert.match(written.text, /a\.zip!b: it is large \(partly scanned\)/);
  assert.match(written.text, /note: not regular files .*: 1/);
});

test('the reason of an aborted scan is shown once', () => {
  const told = (reason: string): string => {
    const { written, report: text } = report();
    text.problem({ code: 'source_failed', path: 'shop', message: 'no such repository', extent: 'partial' });
    text.end(summary({ outcome: 'aborted', reason }));
    return written.text;
  };
  assert.equal(told('shop: no such repository').match(/no such repository/g)?.length, 1);
  assert.doesNotMatch(told('shop: no such repository'), /partly scanned/);
  assert.match(told('shop: no such repository'), /✖ the scan was aborted$/m);
  assert.match(told('it was stopped'), /✖ the scan was aborted: it was stopped$/m);
});

test('a baseline is summarized in numbers, with a caveat for missing findings of an incomplete scan', () => {
  const told = (outcome: 'complete' | 'incomplete'): string => {
    const { written, report: text } = report();
    text.end(summary({ outcome, baseline: { known: 3, gone: 2 }, ignored: 1 }));
    return written.text;
  };
  assert.match(told('complete'), /✔ no new secrets in/);
  assert.match(told('complete'), /baseline: 3 findings known, 2 findings no longer found$/m);
  assert.match(told('incomplete'), /no longer found or not scanned/);
  assert.match(told('complete'), /ignored by fingerprint: 1 finding/);
});

test('without its summary, a clean scan prints nothing', () => {
  const written = new Written();
  new TextReport(written, { paint: plain, withSummary: false, withContext: false }).end(summary());
  assert.equal(written.text, '');
});

test('the lines around a secret are written if they are wanted', () => {
  const context = [
    { number: 9, text: 'first\u001b[31m' },
    { number: 10, text: 'TOKEN=ghp_***;', mark: { start: 0, end: 13 } },
  ];
  const drawn = (withContext: boolean): string => {
    const written = new Written();
    const report = new TextReport(written, { paint: plain, withSummary: false, withContext });
    report.finding(finding({ context }));
    report.end(summary({ reported: 1 }));
    return written.text;
  };
  assert.match(drawn(true), /\n {7}9 │ first\\e\[31m\n {4}> 10 │ TOKEN=ghp_\*\*\*;\n$/);
  assert.ok(!drawn(false).includes('│'));
});

test('a secret is one block with its places, under the file of the surest one', () => {
  const { written, report: text } = report();
  const [one, other] = ['1'.repeat(32), '2'.repeat(32)];
  text.finding(finding({ path: 'a.env', confidence: 'medium', secret_id: one, fingerprint: 'f1' }));
  text.finding(finding({ path: 'a.env', line: 5, secret_id: other }));
  const commit = { id: 'c'.repeat(40), author: 'A', email: 'a@example.com', date: '2026-01-01', subject: 's' };
  text.finding(finding({ path: 'b.env', line: 7, secret_id: one, fingerprint: 'f2' }));
  text.finding(finding({ path: 'c.env', line: 9, secret_id: one, fingerprint: 'f3', commit }));
  text.end(summary({ reported: 4, secrets: 2 }));
  const lines = written.lines.map((line) => line.trim());
  assert.deepEqual(
    lines.filter((line) => /^(?:\w\.env$|at |also at |github)/.test(line)),
    [
      'a.env',
      'github-personal-access-token  GitHub personal access token',
      'at          a.env:5:7',
      'b.env',
      'github-personal-access-token  GitHub personal access token (3 places)',
      'at          b.env:7:7',
      'also at     a.env:3:7 f1',
      'also at     c.env:9:7 in cccccccccccc f3',
    ],
  );
  assert.match(written.text, /^✖ 2 secrets in 4 places of 2 objects, /m);
});
