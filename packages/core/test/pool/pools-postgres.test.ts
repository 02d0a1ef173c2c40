import assert from 'node:assert/strict';
import { before, test } from 'node:test';

import { RunnerAgent } from '../../src/pool/agent/agent.ts';
import { PostgresBackend } from '../../src/pool/backends/postgres.ts';
import { Pool } from '../../src/pool/pool.ts';
import type { HoldOptions } from '../../src/pool/pool-port.ts';
import { PostgresRunnerStore } from '../../src/pool/store/postgres.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId, systemRandom } from '@heddle/base/random';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase, type TestDatabase } from '@heddle/test-support/postgres';
import { FakeProvider, type FakeInstance } from '@heddle/test-support/pool/fake-provider';
import { demandOf, POLICY } from '../support/pool/scene.ts';

const POOLS = 3;
const SINGLES = 24;
const GANG = 6;
const HEARTBEAT_MS = 500;
const INTERVALS = {
  ...{ serve_ms: 50, provision_ms: 50, launch_ms: 50, sweep_ms: 50 },
  ...{ terminate_ms: 50, reap_ms: 200, replenish_ms: 50 },
};

/** Longer than a busy machine needs to answer. */
const times = { ...POLICY.times, confirm_ms: 120_000, heartbeat_max_age_ms: 120_000, heartbeat_timeout_ms: 240_000 };

let opened: TestDatabase;

before(async () => {
  opened = await createTestDatabase({ acquireTimeoutMs: 60_000 });
});

function newStore(): PostgresRunnerStore {
  const { classes, max_uses } = POLICY;
  return new PostgresRunnerStore({ database: opened.database, classes, times, max_uses });
}

test('several pools over one database serve all requests, launch within limits, and leave nothing behind', async () => {
  const agents: RunnerAgent[] = [];
  const connection = newStore();
  const boot = (instance: FakeInstance): void => {
    const agent = new RunnerAgent({
      connection,
      registration: { runner_id: instance.runner_id, batch_id: null, provider_id: instance.provider_id, address: null },
      clock: systemClock,
      log: silentLogger,
      heartbeat_ms: HEARTBEAT_MS,
      onClaimed: () => undefined,
      onEnd: () => provider.vanish(instance.provider_id),
    });
    agents.push(agent);
    agent.start();
  };
  const provider = new FakeProvider({ now: () => systemClock.now(), onLaunched: boot, pageSize: 10 });
  const max_runners = (SINGLES + GANG) * 2;
  const pools = Array.from({ length: POOLS }, () => {
    const store = newStore();
    const backend = new PostgresBackend(store);
    const common = { clock: systemClock, random: systemRandom, log: silentLogger };
    return new Pool(
      { store, backend, provider, policy: { ...POLICY, times, max_runners }, ...common },
      { intervals: INTERVALS },
    );
  });
  const pool = pools[0]!;
  for (const each of pools) each.start();
  try {
    const hold: HoldOptions = { id: null, holder: 'a client', tenant: null, wait_ms: null };
    const demands = [...Array.from({ length: SINGLES }, () => demandOf()), demandOf({ count: GANG })];
    const asked = await Promise.all(
      demands.map((demand, at) => pools[at % POOLS]!.hold(demand, { ...hold, id: newId() })),
    );
    await eventually(async () => (await pool.waiting(100)).length === 0, 'every request is served', 60_000);
    const granted = await Promise.all(asked.map(({ id }) => pool.request(id)));
    const held = granted.flatMap(({ runners }) => runners.map(({ id }) => id));
    assert.equal(held.length, SINGLES + GANG);
    assert.equal(new Set(held).size, held.length);
    assert.ok(provider.instances.size <= max_runners, `${provider.instances.size} instances`);
    const running = async () => (await pool.runners({ state: 'running' }, { offset: 0, limit: 100 })).length;
    await eventually(async () => (await running()) === SINGLES + GANG, 'every runner is running', 60_000);
    await Promise.all(asked.map(({ id }, at) => pools[at % POOLS]!.releaseHold(id)));
    const left = async () => pool.runners({ ended: false }, { offset: 0, limit: 100 });
    await pool.drain((await left()).map(({ id }) => id));
    await eventually(async () => (await left()).length === 0, 'every runner has ended', 60_000);
    await eventually(() => provider.running.length === 0, 'every instance has ended', 60_000);
  } finally {
    await Promise.all(pools.map((each) => each.stop()));
    await Promise.all(agents.map((agent) => agent.stop()));
  }
});
