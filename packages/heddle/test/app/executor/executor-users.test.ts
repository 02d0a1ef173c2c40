/** The users that tasks run as: those of the settings only. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { userRangeFaults, type UserFiles } from '../../../src/app/remote/executor-users.ts';
import { heddle } from '@heddle/test-support/app/heddle-process';
import { endpointOf, ExecutorSite, withoutJail } from '../../support/app/executor/executor-process.ts';

const isRoot = process.getuid?.() === 0;
const FIRST = 1_900_000_000;
const COUNT = 64;

const FILES: UserFiles = {
  passwd:
    'root:x:0:0:root:/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\nnobody:x:65534:65534::/:/sbin/nologin\n',
  subuid: '# comment\nalice:100000:65536\n',
  subgid: 'alice:300000:65536\nbroken\n',
};

test('a range that overlaps others, or is too small, is rejected by name with a remedy', () => {
  const faults = (first: number, count: number, workers = 8): string => {
    return userRangeFaults({ first, count }, workers, FILES).join('\n');
  };
  assert.equal(faults(700_000, 8_192), '');
  assert.equal(faults(165_536, 64), '');
  const overlap = 'HEDDLE_EXECUTOR_FIRST_USER, HEDDLE_EXECUTOR_USER_COUNT: the users';
  const remedy = ': choose an unused range';
  assert.equal(faults(1_000, 64), `${overlap} 1000 to 1063 overlap the user alice (1000) of /etc/passwd${remedy}`);
  assert.match(faults(65_000, 1_000), /overlap the user nobody \(65534\)/);
  assert.match(faults(99_000, 1_001), /overlap the users 100000 to 165535 of alice in \/etc\/subuid/);
  assert.match(faults(165_535, 64), /in \/etc\/subuid/);
  assert.match(faults(200_000, 200_000), /overlap the users 300000 to 365535 of alice in \/etc\/subgid/);
  assert.equal(faults(99_936, 64), '');
  assert.match(
    faults(700_000, 64, 11),
    /^HEDDLE_EXECUTOR_USER_COUNT: 64 users are too few for 11 workers, which need 66: /,
  );
});

test("settings beyond the kernel's limits are rejected at the start", async () => {
  const start = async (environment: Record<string, string>): Promise<string> => {
    const secret = Buffer.alloc(32, 5).toString('base64url');
    const { code, stderr } = await heddle(['executor'], { HEDDLE_EXECUTOR_SECRET_KEY: secret, ...environment });
    assert.equal(code, 2);
    return stderr;
  };
  for (const first of ['999', '2000000001', '-5', 'root'])
    assert.match(await start({ HEDDLE_EXECUTOR_FIRST_USER: first }), /HEDDLE_EXECUTOR_FIRST_USER/);
  assert.match(await start({ HEDDLE_EXECUTOR_USER_COUNT: '63' }), /HEDDLE_EXECUTOR_USER_COUNT/);
  if (!isRoot) return;
  const nobody = { HEDDLE_EXECUTOR_FIRST_USER: '65500', HEDDLE_EXECUTOR_USER_COUNT: '64' };
  assert.match(await start(nobody), /the users 65500 to 65563 overlap the user nobody \(65534\)/);
});

const skip = !isRoot ? 'NOT RUN: only as root do tasks have users of their own' : withoutJail;

test('tasks run as the users of the settings, in the jail and without', { skip }, async () => {
  const site = await new ExecutorSite().prepare();
  const events = join(site.path, 'events');
  await mkdir(events);
  const module = `import { defineEvent } from '@heddle/kit/event';
    export default ['jail', 'process'].map((tier) => defineEvent({ name: tier, tier, run: () => process.getuid() }));`;
  writeFileSync(join(events, 'users.mjs'), module);
  try {
    const ready = await site.start({
      HEDDLE_EXECUTOR_TIER: 'process',
      HEDDLE_EXECUTOR_EVENTS_DIR: events,
      HEDDLE_EXECUTOR_FIRST_USER: String(FIRST),
      HEDDLE_EXECUTOR_USER_COUNT: String(COUNT),
    });
    const client = site.client(endpointOf(ready, 'tcp'));
    try {
      for (const tier of ['jail', 'process']) {
        const user = Number(await client.submit(tier, {}));
        assert.ok(user >= FIRST && user < FIRST + COUNT, `${user} ran a task in the tier ${tier}`);
      }
    } finally {
      await client.close();
    }
  } finally {
    await site.dispose();
  }
});
