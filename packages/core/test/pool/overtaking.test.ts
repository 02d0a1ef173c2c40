import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { MinIdle } from '../../src/pool/context.ts';
import { OVERTAKES_FOR_EACH } from '../../src/pool/provision.ts';
import { newId } from '@heddle/base/random';
import { demandOf, Scene, SECOND } from '../support/pool/scene.ts';

const MAX = 3;
/** Grants before the first check of a server. */
const UNSEEN = 3;

function idleOf(count: number): MinIdle[] {
  return [{ resource_class: 'large', usage_class: 'on-demand', count, schedule: null, time_zone: 'UTC' }];
}

async function hold(scene: Scene, resource_class: string): Promise<string> {
  const id = newId();
  const who = { id, tenant: resource_class, source: 'holder', run: 'me', attempt: null, expires_at: null } as const;
  await scene.store.ask([{ ...demandOf({ resource_class }), ...who }]);
  return id;
}

test('a full pool evicts idle runners of another class, the longest idle first', async () => {
  const scene = new Scene({ policy: { max_runners: MAX, min_idle: idleOf(MAX) } });
  const pool = scene.pool();
  pool.start();
  await scene.pass(10 * SECOND);
  const idle = await scene.runners('idle');
  assert.equal(idle.length, MAX);
  const first = idle.sort((one, other) => one.state_since - other.state_since || (one.id < other.id ? -1 : 1))[0]!;
  const id = await hold(scene, 'xlarge');
  await scene.pass(10 * SECOND);
  assert.equal((await scene.store.request(id))!.state, 'granted');
  const [ended] = await scene.runners('terminated');
  assert.deepEqual([ended!.id, ended!.reason], [first.id, 'evicted']);
  assert.equal((await scene.runners('idle')).length, MAX - 1, 'one was enough');
  await scene.stop();
});

test('a request of a class without runners is overtaken only a bounded number of times by an endless stream of others', async () => {
  const scene = new Scene({ policy: { max_runners: MAX } });
  const pool = scene.pool();
  pool.start();
  const open = new Set<string>();
  let overtaken = 0;
  let starved: string | null = null;
  for (let second = 0; second < 120; second += 1) {
    const requests = await scene.store.requests([...open]);
    const first = starved === null ? null : (await scene.store.request(starved))!;
    for (const { id, rank, granted_at } of requests.filter(({ state }) => state === 'granted')) {
      if (first !== null && rank > first.rank && granted_at! >= first.created_at) overtaken += 1;
      open.delete(id);
      await scene.store.withdraw([id], 'done');
    }
    while (open.size < 2 * MAX) open.add(await hold(scene, 'large'));
    if (second === 20) starved = await hold(scene, 'xlarge');
    if (starved !== null && (await scene.store.request(starved))!.state === 'granted') break;
    await scene.pass(SECOND);
  }
  assert.equal((await scene.store.request(starved!))!.state, 'granted');
  const bound = OVERTAKES_FOR_EACH * MAX + UNSEEN;
  assert.ok(overtaken <= bound, `${overtaken} of at most ${bound}`);
  await scene.stop();
});
