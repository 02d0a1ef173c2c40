import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { newId, seededRandom } from '@heddle/base/random';
import type { Child } from '@heddle/test-support/reliability/processes';
import { eventually } from '@heddle/test-support/eventually';
import { Yard } from '../../support/app/pool/processes/yard.ts';

const SEED = Number(process.env['HEDDLE_TEST_SEED'] ?? Date.now() % 1_000_000);
const DURATION_MS = process.env['HEDDLE_TEST_LONG'] === '1' ? 60_000 : 6_000;
const SERVERS = 3;
const PAUSE_MAX_MS = 400;
const SERVED_MS = 90_000;

describe(`several servers with one database and one machine, killed at random (HEDDLE_TEST_SEED=${SEED})`, () => {
  const random = seededRandom(SEED);
  const servers: Child[] = [];
  let yard: Yard;

  before(async () => {
    yard = await Yard.open();
    for (let place = 0; place < SERVERS; place += 1) servers.push(yard.start());
    await Promise.all(servers.map((each) => each.told('ready')));
  });
  after(() => yard.close());

  const below = (count: number): number => Math.floor(random.next() * count);

  async function ask(): Promise<string> {
    const id = newId();
    const count = 1 + below(2);
    const demand = { resource_class: 'large', usage_class: 'on-demand' as const, allowed_instance_types: [], count };
    const who = {
      tenant: `tenant ${below(3)}`,
      source: 'holder' as const,
      run: 'soak',
      attempt: null,
      expires_at: null,
    };
    await yard.store.ask([{ ...demand, cpu: null, memory_mib: null, ...who, id }]);
    return id;
  }

  async function killServer(): Promise<void> {
    const place = below(SERVERS);
    await servers[place]!.kill();
    servers[place] = yard.start();
  }

  function killRunner(): void {
    const pids = [...yard.processes().values()];
    const pid = pids[below(pids.length)];
    if (pid === undefined) return;
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself in the meantime.
    }
  }

  it('eventually serves every request, holds no runner twice and leaves nothing behind', async (t) => {
    const asked: string[] = [];
    const givenBack = new Set<string>();
    const giveBack = async (ids: readonly string[]): Promise<void> => {
      for (const id of ids) givenBack.add(id);
      await yard.store.withdraw(ids, 'done');
    };
    const until = performance.now() + DURATION_MS;
    let kills = 0;
    while (performance.now() < until) {
      asked.push(await ask());
      await sleep(random.next() * PAUSE_MAX_MS);
      if (random.next() < 0.3) await killServer();
      if (random.next() < 0.4) killRunner();
      kills += 1;
      await yard.checkHeld();
      // Holders release their runners; half of the runners become free by themselves.
      for (const { id } of await yard.store.granted(100)) if (random.next() < 0.5) await giveBack([id]);
    }
    t.diagnostic(`${asked.length} requests, ${kills} rounds of kills`);
    await eventually(
      async () => {
        await yard.checkHeld();
        const granted = await yard.store.granted(1_000);
        await giveBack(granted.map(({ id }) => id));
        return granted.length === 0 && (await yard.store.waiting(1)).length === 0;
      },
      'every request was served',
      SERVED_MS,
    );
    const started = yard.started();
    for (const id of asked) {
      const request = await yard.store.request(id);
      assert.equal(request?.state, 'ended', id);
      // A request that ended while it waited for a replacement runner is no longer known.
      const wasServed = request.granted_at !== null || givenBack.has(id) || started.has(id);
      assert.ok(wasServed, JSON.stringify(request));
    }
    await Promise.all(servers.map((each) => each.kill()));
    const { claims, runners } = await yard.finish();
    t.diagnostic(`${runners} runners, ${claims} claims`);
    assert.ok(runners > 1 && claims > 1, 'the kills met the pool at work');
  });
});
