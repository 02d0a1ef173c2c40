import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';

import { keepCompiledCode, ownDirectory } from '../src/compile-cache.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'heddle-cache-test-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test('compiled code is kept in a directory that only its user can write to', () => {
  const directory = ownDirectory(root)!;
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  assert.equal(ownDirectory(root), directory);
  chmodSync(directory, 0o777);
  assert.equal(ownDirectory(root), null);
});

test('a link or a file in its place is left alone', () => {
  const directory = ownDirectory(root)!;
  rmSync(directory, { recursive: true });
  symlinkSync(mkdtempSync(join(root, 'elsewhere-')), directory);
  assert.equal(ownDirectory(root), null);
  rmSync(directory);
  writeFileSync(directory, '');
  assert.equal(ownDirectory(root), null);
});

test('no directory is kept where none can be created', () => {
  assert.equal(ownDirectory('/proc'), null);
  assert.equal(ownDirectory(join(root, 'none')), null);
});

test('a cache configured in Node takes precedence', () => {
  for (const name of ['NODE_COMPILE_CACHE', 'NODE_DISABLE_COMPILE_CACHE']) {
    const env = { [name]: '1' };
    keepCompiledCode(env, root);
    assert.deepEqual(env, { [name]: '1' });
  }
  const env: NodeJS.ProcessEnv = {};
  keepCompiledCode(env, join(root, 'a file', '\0'));
  assert.deepEqual(env, {});
});
