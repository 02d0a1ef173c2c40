import assert from 'node:assert/strict';
import { readdir, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
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
