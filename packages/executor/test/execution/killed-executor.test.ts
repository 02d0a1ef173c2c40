import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';

import type { Tier } from '../../src/protocol/messages.ts';
import { eventually } from '@heddle/test-support/eventually';
import { tryTier } from '../support/execution/fixture.ts';

const EXECUTOR = join(import.meta.dirname, '../support/execution/killed-executor.ts');

/** Returns the descendants of a process. */
function descendantsOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}

function runs(pid: number): boolean {
  try {
    return !/^State:\s[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) return line;
  throw new Error('the executor exited');
}

for (const name of ['process', 'jail'] as const satisfies readonly Tier[]) {
  test(`killing the executor kills its tasks in the tier ${name}, and the next one cleans up`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'heddle-killed-'));
    chmodSync(directory, 0o755);
    t.after(() => rmSync(directory, { recursive: true, force: true }));
    const here = await tryTier(name, { directory });
    if (typeof here === 'string') {
      t.skip(`NOT RUN, the tier ${name} is not available here: ${here}`);
      return;
    }
    await here.close();
    const executor = spawn(process.execPath, [EXECUTOR, name, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
    const line = await firstLine(executor);
    t.after(() => rmSync(line.slice('started '.length), { recursive: true, force: true }));
    const tasks = descendantsOf(executor.pid!);
    assert.ok(tasks.length >= 1);
    const ended = once(executor, 'exit');
    executor.kill('SIGKILL');
    await ended;
    await eventually(() => !tasks.some(runs), 'no task process', 5_000);
    assert.equal(readdirSync(directory).length, 1);
    const next = await tryTier(name, { directory });
    assert.ok(typeof next !== 'string');
    await next.close();
    assert.deepEqual(readdirSync(directory), []);
  });
}
