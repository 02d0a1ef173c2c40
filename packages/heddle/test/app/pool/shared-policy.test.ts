import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';

import { loadConfiguration } from '../../../src/app/config.ts';
import { PostgresRunnerStore } from '@heddle/core/pool/store/postgres';
import { readPolicy, writeOrReadPolicy, type SharedPolicy } from '../../../src/app/pool/shared-policy.ts';
import type { SettingValues } from '../../../src/app/settings.ts';
import { createLogger } from '@heddle/base/log';
import { newId } from '@heddle/base/random';
import { createTestDatabase, type TestDatabase } from '@heddle/test-support/postgres';

const SMALL = [{ name: 'small', cpu: 1, memory_mib: 512 }];
const SERVER = {
  HEDDLE_POOL_CLASSES: JSON.stringify(SMALL),
  HEDDLE_POOL_MAX_USES: '1',
  HEDDLE_POOL_IDLE_TIMEOUT_SECS: '20',
  HEDDLE_POOL_HEARTBEAT_SECS: '2',
};

function settingsOf(environment: Record<string, string>): SettingValues {
  return loadConfiguration({ flags: {}, environment, workingDirectory: process.cwd() }).values;
}

describe('the policy of the pool', () => {
  let opened: TestDatabase;
  let lines: string[] = [];
  const log = createLogger({ level: 'info', destination: { write: (line) => lines.push(line) } });
  const settle = (environment: Record<string, string>): Promise<SharedPolicy> =>
    writeOrReadPolicy(opened.database, settingsOf(environment), log);

  before(async () => (opened = await createTestDatabase()));
  after(() => opened.drop());
  beforeEach(async () => {
    lines = [];
    await opened.database.query({ name: 'test.empty_policy', text: 'truncate runner_class' });
  });

  /** A runner on a machine without settings other than the database. */
  async function launch(resource_class: string): Promise<string> {
    const store = new PostgresRunnerStore({ database: opened.database });
    const [id, batchId] = [newId(), newId()];
    const size = { cpu: 1, memory_mib: 512 };
    const requirements = {
      resource_class,
      usage_class: 'spot' as const,
      allowed_instance_types: [],
      cpu: null,
      memory_mib: null,
    };
    await store.plan([{ id: batchId, provider: 'ec2', requirements, ...size, runner_ids: [id] }], 100);
    await store.takeBatches('ec2', 10, 60_000, { per_second: 10, burst: 10 });
    await store.launched(batchId, [{ runner_id: id, provider_id: `i-${id}`, instance_type: 'c1', ...size }], null);
    await store.register({ runner_id: id, batch_id: null, provider_id: `i-${id}`, address: null });
    return id;
  }

  it('of the server applies to a runner with different settings', async () => {
    await settle(SERVER);
    const store = new PostgresRunnerStore({ database: opened.database });
    const id = await launch('small');
    const look = async () => (await store.list({ ids: [id] }, { offset: 0, limit: 1 }))[0]!;
    const idle = await look();
    assert.deepEqual([idle.state, idle.threshold - idle.state_since], ['idle', 20_000]);
    const demand = {
      resource_class: 'small',
      usage_class: 'spot' as const,
      allowed_instance_types: [],
      cpu: null,
      memory_mib: null,
    };
    const requestId = newId();
    await store.ask([
      { ...demand, count: 1, id: requestId, tenant: 't', source: 'holder', run: 'h', attempt: null, expires_at: null },
    ]);
    const [grant] = await store.claimIdle(1, [requestId]);
    const { epoch } = grant!.runners[0]!;
    assert.ok(await store.confirm(id, epoch));
    assert.ok(await store.release(id, epoch));
    const ended = await look();
    assert.deepEqual([ended.state, ended.reason], ['terminated', 'used up'], 'it served the one task that it may');
    const { classes, times } = await readPolicy(opened.database, settingsOf({}));
    assert.deepEqual([classes, times.max_uses, times.heartbeat_ms], [SMALL, 1, 2_000]);
  });

  it('has one row per class, in which settings of the class take precedence', async () => {
    const tiny = { name: 'tiny', cpu: 1, memory_mib: 512, idle_secs: 5, max_uses: 1 };
    const own = { ...SERVER, HEDDLE_POOL_CLASSES: JSON.stringify([...SMALL, tiny]), HEDDLE_POOL_MAX_USES: '2' };
    await settle(own);
    const store = new PostgresRunnerStore({ database: opened.database });
    const idleFor = async (resource_class: string): Promise<number> => {
      const id = await launch(resource_class);
      const [runner] = await store.list({ ids: [id] }, { offset: 0, limit: 1 });
      return runner!.threshold - runner!.state_since;
    };
    assert.deepEqual([await idleFor('small'), await idleFor('tiny')], [20_000, 5_000]);
    const { classes, times, class_times } = await readPolicy(opened.database, settingsOf({}));
    assert.deepEqual(
      classes.map(({ name }) => [name, class_times[name]!.idle_ms, class_times[name]!.max_uses]),
      [
        ['small', 20_000, 2],
        ['tiny', 5_000, 1],
      ],
    );
    assert.equal(times.heartbeat_ms, 2_000);
    await settle(own);
    assert.deepEqual(lines, []);
    await settle({ ...own, HEDDLE_POOL_CLASSES: JSON.stringify([...SMALL, { ...tiny, max_uses: null }]) });
    assert.equal(lines.length, 1, 'other times of one class are another policy');
  });

  it('is that of the server that started last, which logs a change', async () => {
    await settle(SERVER);
    await settle(SERVER);
    assert.deepEqual(lines, []);
    await settle({ ...SERVER, HEDDLE_POOL_MAX_USES: '2' });
    assert.match(lines.join(''), /HEDDLE_POOL_ settings of this server replace/);
    assert.equal((await readPolicy(opened.database, settingsOf({}))).times.max_uses, 2);
    await settle({ HEDDLE_POOL_MAX_USES: '2' });
    assert.equal(lines.length, 2, 'other classes are another policy');
    assert.ok((await readPolicy(opened.database, settingsOf({}))).classes.some(({ name }) => name === '16xl'));
  });

  it('is read, not written, by a server that does not launch runners', async () => {
    await settle(SERVER);
    const { classes, times } = await settle({ HEDDLE_POOL_PROVIDER: 'none' });
    assert.deepEqual([classes, times.idle_ms], [SMALL, 20_000]);
    assert.deepEqual(lines, []);
  });

  it('is that of the first process if no server has written one', async () => {
    const own = settingsOf({ HEDDLE_POOL_IDLE_TIMEOUT_SECS: '7' });
    assert.equal((await readPolicy(opened.database, own)).times.idle_ms, 7_000);
    assert.equal((await readPolicy(opened.database, settingsOf({}))).times.idle_ms, 7_000);
    await settle(SERVER);
    assert.equal((await readPolicy(opened.database, own)).times.idle_ms, 20_000);
  });
});
