import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { lockDirectory } from '../../../src/app/remote/directory-lock.ts';
import { temporaryDirectory } from '@heddle/test-support/postgres';

const directory = temporaryDirectory('heddle-lock-');
const LOCK = join(import.meta.dirname, '../../../src/app/remote/directory-lock.ts');

after(() => rmSync(directory, { recursive: true }));

test('one process owns a directory, by whatever name, until it releases it', async () => {
  const path = join(directory, 'data');
  mkdirSync(path);
  const lock = await lockDirectory(path);
  symlinkSync(path, join(directory, 'link'));
  await assert.rejects(lockDirectory(path), /Another executor uses .*HEDDLE_EXECUTOR_DATA/);
  await assert.rejects(lockDirectory(join(directory, 'link')), /Another executor uses/);
  await lock.release();
  await (await lockDirectory(path)).release();
});

test('a killed process releases the directory', async () => {
  const path = join(directory, 'killed');
  mkdirSync(path);
  const script = `const { lockDirectory } = await import(${JSON.stringify(LOCK)});
    await lockDirectory(${JSON.stringify(path)});
    console.log('locked');
    process.stdin.resume();`;
  const holder = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(holder.stdout, 'data');
  await assert.rejects(lockDirectory(path), /Another executor uses/);
  const gone = once(holder, 'exit');
  holder.kill('SIGKILL');
  await gone;
  await (await lockDirectory(path)).release();
});

test('containers that share the directory exclude each other, which abstract names would not', async (t) => {
  const path = join(directory, 'x'.repeat(120), 'shared');
  mkdirSync(path, { recursive: true });
  const script = `const { lockDirectory } = await import(${JSON.stringify(LOCK)});
    const lock = await lockDirectory(${JSON.stringify(path)});
    console.log('locked');
    process.stdin.once('end', () => lock.release()).resume();`;
  const flags = process.getuid?.() === 0 ? ['--net'] : ['--map-root-user', '--net'];
  const holder = spawn('unshare', [...flags, process.execPath, '--input-type=module', '-e', script], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const [said] = (await Promise.race([once(holder.stdout, 'data'), once(holder.stderr, 'data')])) as [Buffer];
  if (!said.toString().startsWith('locked')) {
    t.skip(`needs network namespaces, and there are none here: ${said.toString().trim()}`);
    return;
  }
  await assert.rejects(lockDirectory(path), /Another executor uses/);
  const gone = once(holder, 'exit');
  holder.stdin.end();
  await gone;
  await (await lockDirectory(path)).release();
});
