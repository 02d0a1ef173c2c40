import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';

import { loadConfiguration } from '../../../src/app/config.ts';
import { PostgresRunnerStore } from '@heddle/core/pool/store/postgres';
import { writeOrReadPolicy } from '../../../src/app/pool/shared-policy.ts';
import { silentLogger } from '@heddle/base/log';
import { newId } from '@heddle/base/random';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { HeddleProcess, type Environment } from '@heddle/test-support/app/heddle-process';

const INSTANCE = 'i-0123456789abcdef0';
const DEADLINE_MS = 90_000;

describe('a runner on EC2', () => {
  let metadata: Server;
  /** The interruption notice; null: none. */
  let notice: string | null = null;
  const batchId = newId();

  before(async () => {
    const answers: Record<string, () => string | null> = {
      '/latest/api/token': () => 'token',
      '/latest/meta-data/instance-id': () => INSTANCE,
      '/latest/meta-data/tags/instance/heddle:batch': () => batchId,
      '/latest/meta-data/local-ipv4': () => '10.0.0.7',
      '/latest/meta-data/spot/instance-action': () => notice,
    };
    metadata = createServer((request, response) => {
      const text = answers[request.url ?? '']?.() ?? null;
      response.statusCode = text === null ? 404 : 200;
      response.end(text ?? 'not found');
    });
    await new Promise<void>((resolve) => metadata.listen(0, '127.0.0.1', resolve));
  });
  after(() => metadata.close());

  /** Stores the policy of servers with these settings, and the launch of the instance. */
  async function launched(
    environment: Record<string, string>,
  ): Promise<{ url: string; store: PostgresRunnerStore; runnerId: string }> {
    const { url, database } = await createTestDatabase();
    const { values } = loadConfiguration({ flags: {}, environment, workingDirectory: process.cwd() });
    await writeOrReadPolicy(database, values, silentLogger);
    const store = new PostgresRunnerStore({ database });
    const runnerId = newId();
    const requirements = {
      resource_class: 'large',
      usage_class: 'spot' as const,
      allowed_instance_types: [],
      cpu: null,
      memory_mib: null,
    };
    const size = { cpu: 2, memory_mib: 4_096 };
    await store.plan([{ id: batchId, provider: 'ec2', requirements, ...size, runner_ids: [runnerId] }], 10);
    const [batch] = await store.takeBatches('ec2', 10, 60_000, { per_second: 10, burst: 10 });
    assert.equal(batch?.id, batchId);
    const instance = { runner_id: runnerId, provider_id: INSTANCE, instance_type: 'm7i.large', ...size };
    await store.launched(batchId, [instance], null);
    return { url, store, runnerId };
  }

  /** Starts the runner on a machine that has the database URL, but no settings of the servers. */
  function start(url: string, environment: Environment = {}): HeddleProcess {
    const { port } = metadata.address() as AddressInfo;
    return new HeddleProcess(['worker', '--runner', 'ec2', '--json'], {
      DATABASE_URL: url,
      AWS_EC2_METADATA_SERVICE_ENDPOINT: `http://127.0.0.1:${port}/`,
      ...environment,
    });
  }

  it('ends itself without a server, at the time in the policy, whatever its own settings are', async (t) => {
    const policy = {
      HEDDLE_POOL_IDLE_TIMEOUT_SECS: '1',
      HEDDLE_POOL_EXIT_GRACE_SECS: '1',
      HEDDLE_POOL_HEARTBEAT_SECS: '0.5',
    };
    const { url, store, runnerId } = await launched(policy);
    const runner = start(url, { HEDDLE_POOL_IDLE_TIMEOUT_SECS: '3600', HEDDLE_POOL_EXIT_GRACE_SECS: '3600' });
    t.after(() => runner.child.kill('SIGKILL'));
    await eventually(() => runner.ended, 'it has ended', DEADLINE_MS);
    assert.equal(await runner.exited, 0, runner.stderr);
    const [row] = await store.list({ ids: [runnerId] }, { offset: 0, limit: 1 });
    assert.deepEqual([row!.state, row!.reason], ['terminated', 'idle too long']);
  });

  it('identifies itself, runs tasks, and accepts no more claims once its machine is interrupted', async (t) => {
    const { url, store, runnerId } = await launched({
      HEDDLE_POOL_IDLE_TIMEOUT_SECS: '4000',
      HEDDLE_POOL_HEARTBEAT_SECS: '0.5',
    });
    const runner = start(url);
    t.after(() => runner.child.kill('SIGKILL'));
    const ready = await runner.event<{ event: 'ready'; runner: string }>('ready', DEADLINE_MS);
    assert.equal(ready.runner, runnerId);
    const stateOf = async (): Promise<string> => {
      const [row] = await store.list({ ids: [runnerId] }, { offset: 0, limit: 1 });
      return `${row!.state} ${row!.address ?? ''}`;
    };
    await eventually(async () => (await stateOf()) === 'idle 10.0.0.7', 'it is idle', DEADLINE_MS);
    const [idle] = await store.list({ ids: [runnerId] }, { offset: 0, limit: 1 });
    assert.equal(idle!.threshold - idle!.state_since, 4_000_000, 'it stays as long as the servers say');
    notice = JSON.stringify({ action: 'terminate', time: '2030-01-01T00:00:00Z' });
    assert.equal(await runner.exited, 0, runner.stderr);
    const [row] = await store.list({ ids: [runnerId] }, { offset: 0, limit: 1 });
    assert.deepEqual([row!.state, row!.reason], ['terminated', 'interrupted']);
  });
});
