import assert from 'node:assert/strict';
import { test } from 'node:test';

import { redactFinding, redactSecret } from '../../src/report/redact.ts';
import { finding, SECRET } from '../support/report/fixture.ts';

test('a secret shows its beginning and neither its end nor its length', () => {
  assert.equal(redactSecret(SECRET), 'ghp_***');
  assert.equal(redactSecret('hunter2pass'), 'hu***');
  assert.equal(redactSecret('abcd'), '***');
  assert.equal(redactSecret(''), '***');
});

test('a surrogate pair is not split', () => {
  assert.ok(redactSecret('abc😀😀😀😀😀😀😀😀😀😀').isWellFormed());
});

test('the secret appears nowhere: match, every occurrence, the subject of the commit', () => {
  const commit = { id: 'a'.repeat(40), author: 'A', email: 'a@example.com', date: '2026-01-01T00:00:00Z' };
  const shown = redactFinding(
    finding({ match: `${SECRET}:${SECRET}@host`, commit: { ...commit, subject: `use ${SECRET}` } }),
  );
  assert.equal(JSON.stringify(shown).includes(SECRET), false);
  assert.equal(JSON.stringify(shown).includes(SECRET.slice(5)), false);
  assert.equal(shown.match, 'ghp_***:ghp_***@host');
});

test('text that looks like another secret is masked too; words stay', () => {
  const other = ['AKIA', 'Q7RZ5TNWXYV3PJ2M'].join('');
  const shown = redactFinding(finding({ match: `access_key = ${other} token = ${SECRET}` }));
  assert.equal(shown.match, 'access_key = AKIA*** token = ghp_***');
});

test('a match without the secret shows nothing of itself', () => {
  const encoded = Buffer.from(SECRET).toString('base64');
  assert.equal(redactFinding(finding({ match: encoded })).match, 'ghp_***');
});
