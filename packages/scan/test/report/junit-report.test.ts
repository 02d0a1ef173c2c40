import assert from 'node:assert/strict';
import { test } from 'node:test';

import { JunitReport, xmlText } from '../../src/report/junit-report.ts';
import { finding, summary, Written } from '../support/report/fixture.ts';

function junit(fill: (report: JunitReport) => void, end = summary()): string {
  const written = new Written();
  const report = new JunitReport(written);
  fill(report);
  report.end(end);
  assertWellFormed(written.text);
  return written.text;
}

/** Checks that tags are balanced, and everything outside them is escaped. */
function assertWellFormed(xml: string): void {
  const open: string[] = [];
  const rest = xml
    .replace(/^<\?xml [^>]*\?>/, '')
    .replace(/<(\/?)([\w]+)((?: [\w]+="[^"<]*")*)(\/?)>/g, (_all, end, name, _attributes, empty) => {
      if (end === '/') assert.equal(open.pop(), name);
      else if (empty !== '/') open.push(String(name));
      return '';
    });
  assert.deepEqual(open, []);
  assert.doesNotMatch(rest, /[<>]|&(?!(amp|lt|gt|quot|apos|#\d+);)/);
}

test('a clean scan is one passed test', () => {
  const xml = junit(() => undefined);
  assert.match(xml, /<testsuites name="heddle scan" tests="1" failures="0" errors="0" skipped="0" time="1\.500">/);
  assert.match(xml, /<testcase classname="heddle scan" name="no secrets were found"\/>/);
});

test('findings fail, unscanned objects are errors, notices are skipped', () => {
  const xml = junit(
    (report) => {
      report.finding(finding());
      report.problem({ code: 'encrypted', path: 'a.zip', message: 'it needs a password', extent: 'skipped' });
      report.finding(finding({ line: 9 }));
      report.problem({ code: 'special_file', path: 'fifo', message: 'a pipe', extent: 'notice' });
    },
    summary({ outcome: 'incomplete' }),
  );
  assert.match(xml, /<testsuites [^>]*tests="4" failures="2" errors="1" skipped="1"/);
  assert.equal(xml.match(/<testcase /g)?.length, 4);
  assert.equal(xml.match(/<failure /g)?.length, 2);
  assert.match(
    xml,
    /<testcase classname="src\/app\.env" name="github-personal-access-token at 3:7" file="src\/app\.env" line="3">/,
  );
  assert.match(xml, /<failure type="github-personal-access-token" message="src\/app\.env:3:7: GitHub personal/);
});

test('an aborted scan is an error with its reason', () => {
  const xml = junit(() => undefined, summary({ outcome: 'aborted', reason: 'a <budget> ended' }));
  assert.match(xml, /errors="1".*\n[\s\S]*<error type="aborted" message="a &lt;budget&gt; ended"\/>/);
});

test('the XML is well-formed, whatever names and contents contain', () => {
  const evil = ']]></failure><x a="\'&\u0000\u001b\u0008\ufffe\uffff\ud800\udc00\ud800\udc00x\udfff"\r\n\t';
  const xml = junit((report) => {
    report.finding(finding({ path: evil, match: evil, description: evil, rule_id: evil }));
    report.problem({ code: 'unreadable', path: evil, message: evil, extent: 'partial' });
  });
  assert.doesNotMatch(xml, /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/);
  assert.ok(xml.isWellFormed());
});

test('XML text: invalid characters are replaced, surrogate pairs stay', () => {
  assert.equal(xmlText('a\u0000b\ud83d'), 'a\ufffdb\ufffd');
  assert.equal(xmlText('😀<&>"\''), '😀&lt;&amp;&gt;&quot;&apos;');
});
