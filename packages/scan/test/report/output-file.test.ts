import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';

import { OutputFile } from '../../src/report/output-file.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'heddle-output-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

test('the file appears when it is complete, and nothing else is left', () => {
  const path = join(directory, 'report.json');
  writeFileSync(path, 'before');
  const file = new OutputFile(path);
  file.write('a'.repeat(100_000));
  file.write('ü');
  assert.equal(readFileSync(path, 'utf8'), 'before');
  file.commit();
  assert.equal(readFileSync(path, 'utf8'), `${'a'.repeat(100_000)}ü`);
  assert.deepEqual(readdirSync(directory), ['report.json']);
});

test('a discarded file keeps the previous content', () => {
  const path = join(directory, 'report.json');
  writeFileSync(path, 'before');
  const file = new OutputFile(path);
  file.write('half');
  file.discard();
  assert.equal(readFileSync(path, 'utf8'), 'before');
  assert.deepEqual(readdirSync(directory), ['report.json']);
});

test('a link stays a link', () => {
  const path = join(directory, 'link');
  mkdirSync(join(directory, 'real'));
  writeFileSync(join(directory, 'real', 'file'), '');
  symlinkSync('real/file', path);
  const file = new OutputFile(path);
  file.write('new');
  file.commit();
  assert.equal(readlinkSync(path), 'real/file');
  assert.equal(readFileSync(path, 'utf8'), 'new');
});

test('a file with secrets is readable by its owner only', () => {
  const path = join(directory, 'clear.json');
  const file = new OutputFile(path, 0o600);
  file.commit();
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test('anything but a regular file is written directly', () => {
  const file = new OutputFile('/dev/null');
  file.write('x');
  file.commit();
  assert.equal(statSync('/dev/null').isCharacterDevice(), true);
});

test('a directory is rejected', () => {
  assert.throws(() => new OutputFile(directory), { code: 'EISDIR' });
});
