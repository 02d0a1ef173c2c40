import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { test } from 'node:test';

import { endProcesses, MARK_VARIABLE } from '../../scripts/test-processes.ts';

const LINUX = process.platform === 'linux' ? false : 'NOT RUN: processes are looked for in /proc';

test('what a test file leaves is ended: detached, and with an environment of its own', { skip: LINUX }, async () => {
  const mark = `${randomUUID()}/file`;
  // The parent carries the mark. Its child does not, and reports once it has a command of its own.
  const child = 'echo started; kill -STOP $$';
  const script = `env -i /bin/sh -c '${child}' & wait`;
  const env = { ...process.env, [MARK_VARIABLE]: mark };
  const parent = spawn('/bin/sh', ['-c', script], { detached: true, env, stdio: ['ignore', 'pipe', 'ignore'] });
  await once(parent.stdout, 'data');
  assert.deepEqual(await endProcesses(`${mark}-of-another`, 0), []);
  const ended = once(parent, 'close');
  const commands = await endProcesses(mark, 0);
  assert.deepEqual(commands.sort(), [`/bin/sh -c ${script}`, `/bin/sh -c ${child}`].sort());
  // Its output is closed once its child, which holds it too, has gone.
  await ended;
});

test('what is about to end may do so', { skip: LINUX }, async () => {
  const mark = randomUUID();
  const child = spawn('/bin/cat', { env: { [MARK_VARIABLE]: mark }, stdio: ['pipe', 'ignore', 'ignore'] });
  await once(child, 'spawn');
  const ended = endProcesses(mark, 60_000);
  child.stdin.end();
  assert.deepEqual(await ended, []);
});
