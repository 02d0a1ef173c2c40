import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

import type { Logger } from '@heddle/base/log';
import { silentLogger } from '@heddle/base/log';
import { AttackCode, resultOf, run, tryTier } from '../support/execution/fixture.ts';

test('log lines that bypass the bootstrap are limited', async (t) => {
  const written: number[] = [];
  const log: Logger = { ...silentLogger, info: (fields: object) => void written.push(JSON.stringify(fields).length) };
  const tier = await tryTier('process', { log });
  if (typeof tier === 'string') {
    t.skip(`NOT RUN, the tier is not available here: ${tier}`);
    return;
  }
  await using code = await AttackCode.make();
  assert.equal(resultOf(await run(tier, code.module('channel'), 'channel.long-lines')), 'written');
  await tier.close();
  assert.ok(written.length > 20, `${written.length} lines`);
  assert.ok(Math.max(...written) < 64 * 1024, 'each line is limited');
  assert.ok(written.reduce((sum, length) => sum + length, 0) < 1_100_000, 'the total is limited');
});

test('no device of the jail provides memory outside the limits', async (t) => {
  const tier = await tryTier('jail');
  if (typeof tier === 'string') {
    t.skip(`NOT RUN, the jail is not available here: ${tier}`);
    return;
  }
  await using code = await AttackCode.make();
  const devices = resultOf(await run(tier, code.module('files'), 'files.list', { args: { path: '/dev' } }));
  await tier.close();
  assert.deepEqual(devices, ['null', 'random', 'urandom']);
  assert.match(await readFile('docs/executors/sandbox.md', 'utf8'), /three devices/);
});

test('standard error of a lost process goes to the log, not to the caller', async (t) => {
  const reported: string[] = [];
  const log: Logger = { ...silentLogger, warn: (fields: object) => void reported.push(JSON.stringify(fields)) };
  const tier = await tryTier('process', { log });
  if (typeof tier === 'string') {
    t.skip(`NOT RUN, the tier is not available here: ${tier}`);
    return;
  }
  await using code = await AttackCode.make();
  const outcome = await run(tier, code.module('endings'), 'endings.abort');
  await tier.close();
  assert.ok(outcome.status === 'error');
  assert.deepEqual([outcome.code, outcome.details], ['WORKER_LOST', undefined]);
  assert.match(reported.join(), /"stderr":"the event called process\.abort/);
});
