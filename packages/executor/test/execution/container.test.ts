import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';

import type { ExecutionTier } from '../../src/execution/port.ts';
import { eventually } from '@heddle/test-support/eventually';
import { AttackCode, resultOf, run, tryTier } from '../support/execution/fixture.ts';

/** Uses a real engine if there is one; otherwise a stand-in command that at least verifies the arguments. */
const folder = mkdtempSync(join(tmpdir(), 'heddle-engine-'));
const command = join(folder, 'engine');
const script = join(import.meta.dirname, '../support/execution/stand-in-engine.ts');
writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${script}' "$@"\n`);
chmodSync(command, 0o755);
after(() => rmSync(folder, { recursive: true, force: true }));

const hasBubblewrap = spawnSync('bwrap', ['--version']).status === 0;
const container = {
  command,
  image: 'stand-in-image',
  environment: { PATH: process.env['PATH'] ?? '', STAND_IN_FOLDER: folder },
};
const tier = hasBubblewrap ? await tryTier('container', { container }) : 'the stand-in for the engine needs bubblewrap';

if (typeof tier === 'string') {
  test('the tier container', (t) => t.skip(`NOT RUN: ${tier}`));
} else describe('the tier container, with a stand-in for the engine', () => check(tier));

function containers(): string[] {
  return readdirSync(folder).filter((name) => name.startsWith('heddle-'));
}

function check(tier: ExecutionTier): void {
  test('runs a task, whose output does not count as an answer', async () => {
    await using code = await AttackCode.make();
    assert.deepEqual(resultOf(await run(tier, code.module('healthy'), 'healthy', { args: { a: 1 } })), {
      got: { a: 1 },
    });
    const flooded = await run(tier, code.module('output'), 'output.stdout', { timeout_ms: 30_000 });
    assert.equal(resultOf(flooded), null);
  });

  test('kills tasks that take too long, and removes the container', async () => {
    await using code = await AttackCode.make();
    const outcome = await run(tier, code.module('time'), 'time.endless-loop', { timeout_ms: 300 });
    assert.equal(outcome.status === 'error' && outcome.code, 'TASK_TIMEOUT');
  });

  test('passes every guarantee of the tier to the engine', () => {
    const calls = readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n');
    const runs = calls.map((line) => JSON.parse(line) as string[]).filter(([verb]) => verb === 'run');
    const words = runs.at(-1)?.join(' ') ?? '';
    for (const promise of [
      '--rm',
      '--network none',
      '--read-only',
      '--user 65534:65534',
      '--cap-drop ALL',
      '--security-opt no-new-privileges',
      '--pids-limit 64',
      '--memory 224m --memory-swap 224m',
      '--pull never',
    ]) {
      assert.ok(words.includes(promise), promise);
    }
  });

  after(async () => {
    await tier.close();
    await eventually(() => containers().length === 0, 'no container left', 5_000);
  });
}
