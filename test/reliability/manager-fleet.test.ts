import { join } from 'node:path';
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { MANAGER_QUEUE } from '@heddle/core/domain/message';
import { seededRandom } from '@heddle/base/random';
import { collection, newBench } from '@heddle/test-support/engine/manager/fixture';
import { patience } from '@heddle/test-support/patience';
import { assertClean, hasEnded } from '../support/reliability/manager-verdict.ts';
import { ManagerWorld } from '../support/reliability/manager-world.ts';
import { startChild, type Child } from '@heddle/test-support/reliability/processes';

const LONG = process.env['HEDDLE_TEST_LONG'] === '1';
const MANAGERS = LONG ? 10 : 3;
/** Managers that are killed. */
const KILLS = LONG ? 150 : 6;
const KILL_EVERY_MS = LONG ? 250 : 400;
/** Workflows that are under way at once; the next ones begin when these have ended. */
const WORKFLOWS = LONG ? 60 : 15;
const ROUND_MS = 120_000;
const SEED = Number(process.env['HEDDLE_TEST_SEED'] ?? Date.now() % 1_000_000);

/** Managers in processes of their own, over one queue. Some of them may be dead at any moment. */
class Managers {
  readonly #url: string;
  readonly #members: Child[] = [];
  readonly #random = seededRandom(SEED);
  kills = 0;

  constructor(url: string) {
    this.#url = url;
  }

  async start(): Promise<void> {
    for (let place = 0; place < MANAGERS; place += 1) this.#members.push(this.#launch());
    await Promise.all(this.#members.map((member) => member.told('ready')));
  }

  /** Kills one that has begun to work, whatever it is at, and starts another in its place. */
  async killOne(): Promise<void> {
    const place = Math.floor(this.#random.next() * MANAGERS);
    const victim = this.#members[place]!;
    await victim.told('ready');
    await victim.kill();
    this.kills += 1;
    this.#members[place] = this.#launch();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.kill()));
  }

  #launch(): Child {
    return startChild(join(import.meta.dirname, '../support/reliability/manager-process.ts'), [this.#url]);
  }
}

it(`${MANAGERS} managers share a queue and are killed at random: nothing starts twice, nothing is lost or stuck (seed ${SEED})`, async (t) => {
  const bench = await newBench({ maxSize: 8 });
  const managers = new Managers(bench.url);
  await managers.start();
  const over = new AbortController();
  const killer = (async () => {
    while (!over.signal.aborted && managers.kills < KILLS) {
      await sleep(KILL_EVERY_MS);
      await managers.killOne();
    }
  })();
  let rounds = 0;
  try {
    do {
      const world = new ManagerWorld(`round${rounds}`, SEED + rounds, WORKFLOWS);
      const deadline = performance.now() + ROUND_MS * patience();
      await world.begin(bench);
      while (!(await hasEnded(bench.database, bench.queue, world))) {
        assert.ok(performance.now() < deadline, 'the workflows do not come to their end');
        // fixed wait: the pace of workers that found nothing to do
        if ((await world.work(bench.queue)) === 0) await sleep(20);
      }
      await assertClean(bench.database, bench.queue, world);
      rounds += 1;
    } while (managers.kills < KILLS);
  } finally {
    over.abort();
    await killer;
    await managers.stop();
  }
  t.diagnostic(`${rounds * WORKFLOWS} workflows in ${rounds} rounds, ${managers.kills} managers killed`);
  await bench.queue.close();
  await bench.engine.close();
});

it('a message that kills its manager again and again ends in the dead letters, and can be redriven', async () => {
  const bench = await newBench();
  const name = { queue: MANAGER_QUEUE, max: 10, wait_ms: 5_000, visibility_ms: 1 };
  const body = JSON.stringify(collection({ mode: 'parallel', children: [{ kind: 'one' }] }));
  await bench.queue.send(MANAGER_QUEUE, [{ body }]);
  // Taken and never settled, as by processes that die of it.
  for (let taken = 0; taken < 10; taken += 1) assert.equal((await bench.queue.receive(MANAGER_QUEUE, name)).length, 1);
  assert.deepEqual(await bench.queue.receive(MANAGER_QUEUE, { ...name, wait_ms: 50 }), []);
  const [letter] = await bench.queue.listDead(MANAGER_QUEUE, { offset: 0, limit: 1 });
  assert.equal(letter!.body, body);
  assert.equal(await bench.queue.redrive(MANAGER_QUEUE, [letter!.id]), 1);
  const again = await bench.queue.receive(MANAGER_QUEUE, name);
  await bench.manager.run(again, Date.now());
  assert.equal((await bench.engine.listWorkflows({ offset: 0, limit: 2 })).workflows.length, 1);
  await bench.queue.close();
  await bench.engine.close();
});
