import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { refuseNoDiff } from '../../src/command/diff-input.ts';
import { isPipe, SpooledInput } from '../../src/command/spooled-input.ts';

const directory = mkdtempSync(join(tmpdir(), 'heddle-spool-'));
process.on('exit', () => rmSync(directory, { recursive: true }));

test('a pipe is kept in a file, which can be read at any place', async () => {
  const pipe = join(directory, 'pipe');
  execFileSync('mkfifo', [pipe]);
  assert.ok(isPipe(pipe));
  const writer = spawn('sh', ['-c', `printf 'a diff' > "${pipe}"`]);
  const spool = new SpooledInput(pipe);
  await spool.fill(new AbortController().signal);
  assert.equal(readFileSync(spool.path, 'utf8'), 'a diff');
  assert.ok(!isPipe(spool.path));
  spool.remove();
  assert.ok(!existsSync(spool.path));
  writer.kill();
});

test('an input is refused if it has neither a diff nor what git writes in the place of one', () => {
  const file = join(directory, 'input');
  const refused = (text: string): boolean => {
    writeFileSync(file, text);
    try {
      refuseNoDiff(file, '-');
      return false;
    } catch {
      return true;
    }
  };
  for (const text of ['hello', 'TOKEN=1\n+++ b/c\n', 'From: a\n\nhello\n']) assert.ok(refused(text), text);
  for (const text of [
    '',
    '\n',
    'hello\n--- a\n+++ b\n@@ -0,0 +1 @@\n+c\n',
    'diff --git a/x b/x\nold mode 100644\n',
    'commit 0123456789abcdef\nAuthor: a\n',
    'Binary files a/x and b/x differ\n',
    'x'.repeat(1024 * 1024),
  ])
    assert.ok(!refused(text), text.slice(0, 40));
  refuseNoDiff(join(directory, 'missing'), 'missing');
});
