import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { ControlGroups } from '../../src/execution/control-groups.ts';
import { systemClock } from '@heddle/base/clock';
import { AttackCode, resultOf, run, tryTier } from '../support/execution/fixture.ts';

const isLinux = process.platform === 'linux';

test(
  'a process that cannot start for lack of descriptors fails, and the executor continues',
  { skip: isLinux ? false : 'NOT RUN: prlimit exists only on Linux' },
  async () => {
    const program = join(import.meta.dirname, '../support/execution/no-descriptors.ts');
    const { stdout } = await promisify(execFile)('prlimit', ['--nofile=64', process.execPath, program]);
    assert.match(
      stdout,
      /^begun\nError: the executor did not accept its streams \/ .*git could not be started on the executor\n$/,
    );
  },
);

test(
  'descriptors inherited by an executor reach no task, in any tier',
  { skip: isLinux ? false : 'NOT RUN: other systems do not pass on such descriptors' },
  async () => {
    const program = join(import.meta.dirname, '../support/execution/inherited-descriptors.ts');
    const script = 'exec 200<"$2"; exec "$0" "$1"';
    const { stdout } = await promisify(execFile)('bash', ['-c', script, process.execPath, program, program]);
    const { executor, ...tiers } = JSON.parse(stdout) as Record<string, unknown>;
    assert.equal(executor, true);
    for (const [name, found] of Object.entries(tiers)) {
      if (typeof found !== 'string') assert.deepEqual(found, [], name);
    }
    assert.ok(Object.values(tiers).some(Array.isArray), stdout);
  },
);

test('failed starts leak no slots', async (t) => {
  const parent = await mkdtemp(join(tmpdir(), 'heddle-starts-'));
  await chmod(parent, 0o755);
  t.after(() => rm(parent, { recursive: true, force: true }));
  const tier = await tryTier('process', { directory: parent, privateTmp: false });
  if (typeof tier === 'string') {
    t.skip(`NOT RUN, the tier is not available here: ${tier}`);
    return;
  }
  await using code = await AttackCode.make();
  const [stage] = await readdir(parent);
  const work = join(parent, stage!, 'work');
  await rm(work, { recursive: true });
  // More than there are slots.
  for (let starts = 0; starts < 9_000; starts += 1) {
    const outcome = await run(tier, code.module('healthy'), 'healthy');
    assert.ok(outcome.status === 'error');
    assert.equal(outcome.code, 'INTERNAL');
  }
  await mkdir(work, { mode: 0o755 });
  const outcome = await run(tier, code.module('healthy'), 'healthy', { args: { a: 1 } });
  assert.deepEqual(resultOf(outcome), { got: { a: 1 } });
  await tier.close();
});

test('only task processes are ever added to a cgroup', async (t) => {
  const groups = ControlGroups.open(systemClock, `heddle-tier-0-${process.pid}-${Date.now().toString(36)}`);
  if (groups === null) {
    t.skip('NOT RUN: the memory controller is not available here');
    return;
  }
  const group = groups.make(0, 64);
  for (const pid of [0, -1, Number.NaN]) await assert.rejects(group.admit(pid), /invalid process id/);
  await group.remove();
  groups.close();
});
