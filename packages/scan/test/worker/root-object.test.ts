import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Finding } from '../../src/result.ts';
import { RootObject } from '../../src/worker/object-reading.ts';

const KIB = 1024;
const opener = { open: () => assert.fail('nothing is opened'), close: () => undefined };
const at = { index: 0, source: 0, path: 'a.zip', locator: 'a.zip', commit: undefined };
const finding = (bytes: number): Finding =>
  ({ path: 'a.zip!b', match: 'x'.repeat(bytes), secret: '', description: '', confidence_reason: '' }) as Finding;

test('findings of an archive that may be discarded are limited', () => {
  const root = new RootObject(at, opener);
  root.holds = 1;
  for (let count = 0; count < 1024; count++) root.add(finding(64 * KIB));
  assert.ok(root.findings.length > 100 && root.findings.length < 200, `${root.findings.length} are kept`);
  assert.equal(root.findings.length + root.findingsLeftOut, 1024);
});

test('discarding frees capacity; earlier findings stay', () => {
  const root = new RootObject(at, opener);
  root.holds = 1;
  root.add(finding(KIB));
  root.holds = 2;
  for (let count = 0; count < 1024; count++) root.add(finding(64 * KIB));
  root.dropSince(1, 0);
  root.holds = 1;
  for (let count = 0; count < 100; count++) root.add(finding(64 * KIB));
  assert.equal(root.findings.length, 101);
  assert.equal(root.findingsLeftOut, 0);
});

test('if nothing may be discarded, everything is kept until it is sent', () => {
  const root = new RootObject(at, opener);
  for (let count = 0; count < 200; count++) root.add(finding(64 * KIB));
  assert.equal(root.takeFindings().length, 200);
  assert.deepEqual(root.findings, []);
});
