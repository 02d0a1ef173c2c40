import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test, type TestContext } from 'node:test';

import type { ExecutionTier } from '../../src/execution/port.ts';
import { PrivateTmp } from '../../src/execution/private-tmp.ts';
import { systemClock } from '@heddle/base/clock';
import { type Logger, silentLogger } from '@heddle/base/log';
import { AttackCode, resultOf, run, tryTier, type TierChanges } from '../support/execution/fixture.ts';
import { countMounts } from '@heddle/test-support/executor/execution/traces';

const MIB = 1024 * 1024;
const SHARED = ['/tmp', '/var/tmp', '/dev/shm'];
/** Includes the process id, because others use these directories concurrently. */
const NAME = `heddle-filled-${process.pid}`;

function left(): string[] {
  return SHARED.flatMap((directory) => readdirSync(directory).filter((name) => name.startsWith(NAME)));
}

async function open(t: TestContext, name: 'pooled' | 'process', changes: TierChanges): Promise<ExecutionTier | null> {
  const reported: string[] = [];
  const log: Logger = { ...silentLogger, warn: (fields) => void reported.push(JSON.stringify(fields)) };
  const tier = await tryTier(name, { log, ...changes });
  if (typeof tier !== 'string') t.after(() => tier.close());
  if (typeof tier === 'string' || reported.length > 0) {
    t.skip(`NOT RUN, not supported on this machine: ${typeof tier === 'string' ? tier : reported.join()}`);
    return null;
  }
  return tier;
}

for (const name of ['pooled', 'process'] as const) {
  test(`${name}: shared directories are private, in memory and limited`, async (t) => {
    const tier = await open(t, name, { tmpBytes: 4 * MIB });
    if (tier === null) return;
    await using code = await AttackCode.make();
    const args = { paths: SHARED, name: NAME };
    const filled = resultOf(await run(tier, code.module('files'), 'files.fill-shared', { args }));
    const full = { code: 'ENOSPC', written: 4 };
    assert.deepEqual(filled, [full, full, full]);
    assert.deepEqual(left(), []);
    // Its own directory is one of them.
    const own = resultOf(await run(tier, code.module('files'), 'files.fill', { client: 'another' }));
    assert.deepEqual(own, { first: 'EFBIG', second: 'ENOSPC' });
  });

  test(`${name}: another process sees none of it`, async (t) => {
    const tier = await open(t, name, {});
    if (tier === null) return;
    await using code = await AttackCode.make();
    const before = countMounts();
    for (const client of ['one', 'two']) {
      const args = { paths: ['/tmp'], name: NAME };
      await run(tier, code.module('files'), 'files.fill-shared', {
        client,
        args: { ...args, name: `${NAME}-${client}` },
      });
    }
    const seen = resultOf(
      await run(tier, code.module('files'), 'files.list', { client: 'three', args: { path: '/tmp' } }),
    );
    assert.deepEqual(
      (seen as string[]).filter((each) => each.startsWith(NAME)),
      [],
    );
    assert.equal(countMounts(), before);
  });
}

test('if private directories are unavailable, the log says so at startup and tasks run', async () => {
  const reported: string[] = [];
  const log: Logger = { ...silentLogger, warn: (_, message) => void reported.push(message) };
  const environment = { PATH: '/nowhere', LANG: 'C.UTF-8', TZ: 'UTC' };
  const given = { bytesMax: MIB, stage: '/tmp/stage', environment, clock: systemClock, withinMs: 10_000 };
  const why = await PrivateTmp.open(given);
  assert.ok(typeof why === 'string');
  assert.match(why, /bwrap is not in \/nowhere; install the package bubblewrap/);
  const tier = await tryTier('process', { log, privateTmp: false });
  if (typeof tier === 'string') return;
  await using code = await AttackCode.make();
  assert.equal(resultOf(await run(tier, code.module('files'), 'files.links')), 5);
  await tier.close();
  assert.deepEqual(reported, []);
});
