/** What the queue in PostgreSQL does beyond the common suite: between processes, and beside old transactions. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import type { ReceiveOptions } from '../../src/queue/port.ts';
import { PostgresQueue } from '../../src/queue/postgres.ts';
import { Progress } from '../../src/queue/progress.ts';
import { QueueUpkeep } from '../../src/queue/upkeep.ts';
import { systemClock, VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import type { Database, Statement } from '../../src/store/database.ts';
import { createTestDatabase, openTestDatabase } from '@heddle/test-support/postgres';

const closing: (() => Promise<void>)[] = [];
after(async () => {
  for (const close of closing) await close();
});

function open(database: Database): PostgresQueue {
  const queue = new PostgresQueue({ database, clock: systemClock, log: silentLogger });
  closing.push(() => queue.close());
  return queue;
}

const WAIT: ReceiveOptions = { max: 100, wait_ms: 20_000, visibility_ms: 60_000 };
const AGE_DEAD: Statement = {
  name: 'test.age_dead',
  text: `update queue_dead set dead_lettered_at = dead_lettered_at - interval '15 days'`,
};

test('a message that one process sends wakes a receiver of another', async () => {
  const { database, url } = await createTestDatabase();
  const other = openTestDatabase(url);
  const [sender, receiver] = [open(database), open(other)];
  closing.push(() => other.close());
  await receiver.receive('far', { ...WAIT, wait_ms: 1 });
  const received = receiver.receive('far', WAIT);
  await sender.send('far', [{ body: 'x' }]);
  assert.equal((await received)[0]!.body, 'x');
});

test('a message that commits long after it was sent is received, also by a busy queue', async () => {
  const { database } = await createTestDatabase();
  const queue = open(database);
  const committed = Promise.withResolvers<undefined>();
  const sent = Promise.withResolvers<undefined>();
  const late = database.transaction(async (tx) => {
    await queue.sendIn(tx, 'late', [{ body: 'late' }]);
    sent.resolve(undefined);
    await committed.promise;
  });
  await sent.promise;
  const bodies = new Set<string>();
  const until = performance.now() + 1_500;
  while (!bodies.has('late')) {
    await queue.send('late', [{ body: 'early' }]);
    const messages = await queue.receive('late', WAIT);
    for (const { body } of messages) bodies.add(body);
    await queue.delete(
      'late',
      messages.map(({ receipt }) => receipt),
    );
    if (performance.now() > until) {
      committed.resolve(undefined);
      await late;
    }
  }
  assert.ok(performance.now() > until);
});

test('receivers look from where they came to, and from the beginning once a second', async () => {
  const clock = new VirtualClock();
  const progress = new Progress(clock);
  const at = 1_700_000_100_000;
  assert.equal(progress.from('q'), null);
  progress.looked('q', null, at);
  assert.equal(progress.from('q'), at - 1_000, 'a second of overlap for what commits late');
  await clock.advance(999);
  const from = progress.from('q');
  progress.looked('q', from, at + 999);
  assert.equal(progress.from('q'), at - 1);
  await clock.advance(1);
  assert.equal(progress.from('q'), null);
});

test('a queue that seems empty is soon read from the beginning', async () => {
  const clock = new VirtualClock();
  const progress = new Progress(clock);
  progress.looked('q', null, 1_700_000_100_000);
  const from = progress.from('q');
  assert.equal(progress.mayLookAtAll('q'), false);
  assert.equal(progress.idleMs('q', from), 100);
  assert.equal(progress.idleMs('q', null), 1_000);
  await clock.advance(100);
  assert.equal(progress.mayLookAtAll('q'), true);
  assert.equal(progress.from('q'), null);
});

test('dead letters of two weeks ago are deleted', async () => {
  const { database } = await createTestDatabase();
  const queue = open(database);
  await queue.send('aged', [{ body: 'x' }]);
  const [message] = await queue.receive('aged', WAIT);
  await queue.deadLetter('aged', [{ receipt: message!.receipt, reason: 'old' }]);
  const upkeep = new QueueUpkeep({ database, clock: systemClock, log: silentLogger, random: systemRandom });
  await upkeep.runOnce();
  assert.equal((await queue.listDead('aged', { offset: 0, limit: 1 })).length, 1);
  await database.query(AGE_DEAD);
  assert.equal(await upkeep.runOnce(), 'idle');
  assert.equal((await queue.listDead('aged', { offset: 0, limit: 1 })).length, 0);
});
