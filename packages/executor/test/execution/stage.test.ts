import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { Stage } from '../../src/execution/stage.ts';

test('a task process and a zygote start from one file each, and find the event package in another', async () => {
  const stage = await Stage.make(await realpath(tmpdir()));
  try {
    const files = await readdir(stage.runtime, { recursive: true });
    assert.deepEqual(files.sort(), [
      'bootstrap.cjs',
      'package',
      'package/index.mjs',
      'package/package.json',
      'warm-up.mjs',
      'zygote.cjs',
    ]);
    const { defineEvent } = (await import(`${stage.runtime}/package/index.mjs`)) as {
      defineEvent: (options: object) => { name: string };
    };
    assert.equal(defineEvent({ name: 'Works', run: () => null }).name, 'Works');
  } finally {
    await stage.remove();
  }
});

test('a stage is removed with code that is still being copied into it, and copies no more', async () => {
  const parent = await realpath(tmpdir());
  const directory = await mkdtemp(join(parent, 'unreachable-code-'));
  try {
    for (let at = 0; at < 500; at += 1) await writeFile(join(directory, `${at}.mjs`), '');
    await chmod(directory, 0o700);
    const stage = await Stage.make(parent);
    const code = { digest: 'a'.repeat(64), entry: '0.mjs', directory };
    const copied = stage.reachable(code);
    await stage.remove();
    assert.ok((await copied).startsWith(stage.directory));
    assert.ok(!existsSync(stage.directory));
    await assert.rejects(stage.reachable(code), /the tier is closed/);
  } finally {
    await rm(directory, { recursive: true });
  }
});
