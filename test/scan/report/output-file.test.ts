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

import { OutputFile } from '../../../src/scan/report/output-file.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'heddle-output-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

test('it is there when it is whole, and nothing else is left', () => {
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

test('what is discarded leaves what was there before', () => {
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

test('what holds secrets is for its owner alone', () => {
  const path = join(directory, 'clear.json');
  const file = new OutputFile(path, 0o600);
  file.commit();
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test('what is no file of data is written to directly', () => {
  const file = new OutputFile('/dev/null');
  file.write('x');
  file.commit();
  assert.equal(statSync('/dev/null').isCharacterDevice(), true);
});

test('a directory is refused', () => {
  assert.throws(() => new OutputFile(directory), { code: 'EISDIR' });
});
