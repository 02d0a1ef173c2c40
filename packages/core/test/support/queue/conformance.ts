/** What every driver of the queue does alike; each test file runs it against one driver. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { MessageQueue, ReceivedMessage, ReceiveOptions } from '../../../src/queue/port.ts';
import { newId } from '@heddle/base/random';
import type { Database } from '../../../src/store/database.ts';
import { eventually } from '@heddle/test-support/eventually';

/** A driver as the suite sees it. */
export interface Subject {
  name: string;
  /** A queue of its own; `maxReceives` is small where a test asks for poison. */
  open(options?: { maxReceives?: number }): Promise<Opened>;
  /** The shortest time that the driver can hide or delay a message for. */
  grainMs: number;
  /** Whether a second message with the id of one that exists is dropped. */
  dropsDuplicates: boolean;
  /** Moves time on, where the driver runs on a virtual clock; otherwise time passes by itself. */
  advance?(ms: number): Promise<void>;
}

export interface Opened {
  queue: MessageQueue;
  /** The database that `sendIn` belongs to. */
  database: Database;
}

export function conforms(subject: Subject): void {
  describe(`a queue of ${subject.name}`, () => {
    delivery(subject);
    visibility(subject);
    settling(subject);
    deadLetters(subject);
    waiting(subject);
    sets(subject);
    transactions(subject);
    competition(subject);
  });
}

const ONE_MINUTE = 60_000;

function options(extra: Partial<ReceiveOptions> = {}): ReceiveOptions {
  return { max: 10, wait_ms: 0, visibility_ms: ONE_MINUTE, ...extra };
}

/** Receives until `count` messages are there. */
async function receiveAll(
  { queue }: Opened,
  name: string,
  count: number,
  extra: Partial<ReceiveOptions> = {},
): Promise<ReceivedMessage[]> {
  const received: ReceivedMessage[] = [];
  await eventually(async () => {
    received.push(...(await queue.receive(name, options(extra))));
    return received.length >= count;
  }, `${count} messages of ${name}`);
  return received;
}

/** Receives the one message, which becomes visible when time has passed. */
async function receiveLater(subject: Subject, opened: Opened, name: string, ms: number): Promise<ReceivedMessage> {
  await subject.advance?.(ms);
  const [message, ...others] = await receiveAll(opened, name, 1);
  assert.deepEqual(others, []);
  return message!;
}

/**
 * Does what has to happen before a delay has passed, on a queue of its own: once more with a longer delay if the machine
 * was too slow for that.
 */
async function whileHidden<Seen>(subject: Subject, act: (name: string, delayMs: number) => Promise<Seen>) {
  for (let delayMs = subject.grainMs; ; delayMs *= 4) {
    const name = `hidden-${delayMs}`;
    const began = performance.now();
    const seen = await act(name, delayMs);
    if (subject.advance !== undefined || performance.now() - began < delayMs) return { name, delayMs, seen };
  }
}

function receipts(messages: readonly ReceivedMessage[]): string[] {
  return messages.map((message) => message.receipt);
}

async function assertEmpty({ queue }: Opened, name: string): Promise<void> {
  assert.deepEqual(await queue.receive(name, options()), []);
}

function delivery(subject: Subject): void {
  test('hands out what was sent, with its id and body, the first time', async () => {
    const opened = await subject.open();
    const id = newId();
    await opened.queue.send('manager', [{ id, body: '{"type":"WorkerSeen"}' }]);
    const [message] = await receiveAll(opened, 'manager', 1);
    assert.equal(message!.id, id);
    assert.equal(message!.body, '{"type":"WorkerSeen"}');
    assert.equal(message!.receive_count, 1);
    assert.ok(Number.isFinite(message!.sent_at) && message!.sent_at > 0);
    await opened.queue.delete('manager', [message!.receipt]);
    await assertEmpty(opened, 'manager');
  });

  test('keeps queues apart, whatever their names have in common', async () => {
    const opened = await subject.open();
    const names = ['worker:A', 'worker-A', 'worker_A', 'worker:a', 'worker: A/Ü', 'dead'];
    for (const name of names) await opened.queue.send(name, [{ body: `for ${name}` }]);
    for (const name of names) {
      const [message] = await receiveAll(opened, name, 1);
      assert.equal(message!.body, `for ${name}`);
      await assertEmpty(opened, name);
    }
  });

  test('carries any text but NUL, and bodies of a mebibyte', async () => {
    const opened = await subject.open();
    const bodies = [
      '{"a":"ünï — 漢字 — 🧵 — \u2028"}',
      ' \t\r\n',
      '',
      '\u0001\u001f\uffff',
      'x'.repeat(1_048_576),
      '🧵'.repeat(262_144),
    ];
    await opened.queue.send(
      'bodies',
      bodies.map((body) => ({ body })),
    );
    const received = await receiveAll(opened, 'bodies', bodies.length);
    assert.deepEqual(received.map(({ body }) => body).sort(), [...bodies].sort());
    await opened.queue.delete('bodies', receipts(received));
    await assert.rejects(opened.queue.send('bodies', [{ body: 'a\0b' }]), { code: 'VALIDATION_FAILED' });
    await assertEmpty(opened, 'bodies');
  });

  test('drops a second message with the id of one that exists', { skip: skipUnless(subject) }, async () => {
    const opened = await subject.open();
    const id = newId();
    await opened.queue.send('duplicates', [{ id, body: 'first' }]);
    await opened.queue.send('duplicates', [
      { id, body: 'second' },
      { id: newId(), body: 'other' },
    ]);
    const received = await receiveAll(opened, 'duplicates', 2);
    assert.deepEqual(received.map(({ body }) => body).sort(), ['first', 'other']);
    await assertEmpty(opened, 'duplicates');
  });

  test('hands out a delayed message when its delay has passed, not before', async () => {
    const opened = await subject.open();
    const { name, delayMs, seen } = await whileHidden(subject, async (name, delayMs) => {
      await opened.queue.send(name, [{ body: 'later', delay_ms: delayMs }, { body: 'now' }]);
      return receiveAll(opened, name, 1);
    });
    assert.deepEqual(
      seen.map(({ body }) => body),
      ['now'],
    );
    assert.equal((await receiveLater(subject, opened, name, delayMs)).body, 'later');
  });
}

function skipUnless(subject: Subject): string | false {
  return subject.dropsDuplicates ? false : `${subject.name} may hand out both: receivers look at the id`;
}

function visibility(subject: Subject): void {
  test('hands out a message again when its visibility has ended, with a new receipt', async () => {
    const opened = await subject.open();
    const { name, delayMs, seen } = await whileHidden(subject, async (name, delayMs) => {
      await opened.queue.send(name, [{ body: 'x' }]);
      const [first] = await receiveAll(opened, name, 1, { visibility_ms: delayMs });
      return { first, others: await opened.queue.receive(name, options()) };
    });
    const { first, others } = seen;
    assert.deepEqual(others, []);
    const second = await receiveLater(subject, opened, name, delayMs);
    assert.equal(second.id, first!.id);
    assert.equal(second.receive_count, 2);
    assert.notEqual(second.receipt, first!.receipt);
  });

  test('ignores receipts that have ended, and ones it never gave', async () => {
    const opened = await subject.open();
    const { queue } = opened;
    await queue.send('stale', [{ body: 'x' }]);
    const [first] = await receiveAll(opened, 'stale', 1, { visibility_ms: subject.grainMs });
    const second = await receiveLater(subject, opened, 'stale', subject.grainMs);
    for (const receipt of [first!.receipt, 'nonsense', `${newId()}.1`]) {
      await queue.delete('stale', [receipt]);
      await queue.release('stale', [receipt]);
      await queue.extend('stale', [receipt], 1);
      await queue.deadLetter('stale', [{ receipt, reason: 'nobody' }]);
    }
    await assertEmpty(opened, 'stale');
    assert.deepEqual(await queue.listDead('stale', { offset: 0, limit: 10 }), []);
    await queue.release('stale', [second.receipt]);
    assert.equal((await receiveAll(opened, 'stale', 1))[0]!.receive_count, 3);
  });

  test('hides what is extended for longer', async () => {
    const opened = await subject.open();
    await opened.queue.send('extended', [{ body: 'kept' }, { body: 'lapses' }]);
    const messages = await receiveAll(opened, 'extended', 2, { visibility_ms: 2 * subject.grainMs });
    const kept = messages.find(({ body }) => body === 'kept')!;
    await opened.queue.extend('extended', [kept.receipt], ONE_MINUTE);
    const again = await receiveLater(subject, opened, 'extended', 2 * subject.grainMs);
    assert.equal(again.body, 'lapses');
    await opened.queue.delete('extended', [kept.receipt, again.receipt]);
    assert.equal((await opened.queue.depth('extended')).in_flight, 0);
  });
}

function settling(subject: Subject): void {
  test('hands out a released message at once, or after a delay', async () => {
    const opened = await subject.open();
    await opened.queue.send('released', [{ body: 'x' }]);
    const [first] = await receiveAll(opened, 'released', 1);
    await opened.queue.release('released', [first!.receipt]);
    const [second] = await receiveAll(opened, 'released', 1);
    assert.equal(second!.receive_count, 2);
    await opened.queue.release('released', [second!.receipt], subject.grainMs);
    await assertEmpty(opened, 'released');
    assert.equal((await receiveLater(subject, opened, 'released', subject.grainMs)).receive_count, 3);
  });

  test('counts what is visible, in flight, delayed and dead', async () => {
    const opened = await subject.open();
    const { queue } = opened;
    const messages = ['a', 'b', 'c', 'd'].map((body) => ({ body }));
    await queue.send('counted', messages);
    const [one, two] = await receiveAll(opened, 'counted', 2, { max: 2 });
    await queue.deadLetter('counted', [{ receipt: one!.receipt, reason: 'counted' }]);
    assert.deepEqual(await queue.depth('counted'), { visible: 2, in_flight: 1, delayed: 0, dead: 1 });
    await queue.delete('counted', [two!.receipt]);
    assert.deepEqual(await queue.depth('counted'), { visible: 2, in_flight: 0, delayed: 0, dead: 1 });
  });
}

function deadLetters(subject: Subject): void {
  test('keeps dead-lettered messages with their reason, and makes them messages again', async () => {
    const opened = await subject.open();
    const { queue } = opened;
    await queue.send('dead_lettered', [{ body: 'one' }, { body: 'two' }]);
    const received = await receiveAll(opened, 'dead_lettered', 2);
    const reason = `names no kind — 🧵 ${'y'.repeat(3_000)}`;
    await queue.deadLetter(
      'dead_lettered',
      received.map(({ receipt }) => ({ receipt, reason })),
    );
    await assertEmpty(opened, 'dead_lettered');
    const letters = await queue.listDead('dead_lettered', { offset: 0, limit: 10 });
    assert.deepEqual(letters.map(({ body }) => body).sort(), ['one', 'two']);
    for (const letter of letters) {
      assert.equal(letter.queue, 'dead_lettered');
      assert.equal(letter.reason, reason.slice(0, 2_000));
      assert.equal(letter.receive_count, 1);
      assert.ok(letter.dead_lettered_at >= letter.sent_at);
    }
    // Their receiver knows of them: no service has dead-lettered them on its own.
    if (queue.listDeadLettered !== undefined)
      assert.deepEqual(await queue.listDeadLettered(['dead_lettered', 'another']), new Map());
    const two = letters.find(({ body }) => body === 'two')!;
    assert.equal(await queue.redrive('dead_lettered', [two.id, newId()]), 1);
    const [again] = await receiveAll(opened, 'dead_lettered', 1);
    assert.deepEqual([again!.id, again!.body, again!.receive_count], [two.id, 'two', 1]);
    assert.equal(await queue.redrive('dead_lettered', null), 1);
    assert.equal((await receiveAll(opened, 'dead_lettered', 1))[0]!.body, 'one');
    assert.deepEqual(await queue.listDead(null, { offset: 0, limit: 10 }), []);
  });

  test('keeps the body of a dead letter whatever its size', async () => {
    const opened = await subject.open();
    const body = '漢'.repeat(200_000);
    await opened.queue.send('large', [{ body }]);
    const [message] = await receiveAll(opened, 'large', 1);
    await opened.queue.deadLetter('large', [{ receipt: message!.receipt, reason: 'too much' }]);
    assert.equal((await opened.queue.listDead('large', { offset: 0, limit: 1 }))[0]!.body, body);
    assert.equal(await opened.queue.redrive('large', null), 1);
    assert.equal((await receiveAll(opened, 'large', 1))[0]!.body, body);
  });

  test('lists dead letters of one queue or of all, page by page', async () => {
    const opened = await subject.open();
    const { queue } = opened;
    for (const name of ['left', 'right']) {
      await queue.send(
        name,
        [1, 2, 3].map((n) => ({ body: `${name} ${n}` })),
      );
      const received = await receiveAll(opened, name, 3);
      await queue.deadLetter(
        name,
        received.map(({ receipt }) => ({ receipt, reason: 'listed' })),
      );
    }
    assert.equal((await queue.listDead(null, { offset: 0, limit: 10 })).length, 6);
    const pages = [
      ...(await queue.listDead('left', { offset: 0, limit: 2 })),
      ...(await queue.listDead('left', { offset: 2, limit: 2 })),
    ];
    assert.deepEqual(pages.map(({ body }) => body).sort(), ['left 1', 'left 2', 'left 3']);
    assert.equal(await queue.redrive('left', null), 3);
    assert.deepEqual(
      new Set((await queue.listDead(null, { offset: 0, limit: 10 })).map(({ queue: of }) => of)),
      new Set(['right']),
    );
  });

  test('dead-letters what was received too often and never settled', async () => {
    const opened = await subject.open({ maxReceives: 2 });
    await opened.queue.send('poison', [{ body: 'x' }]);
    for (const receives of [1, 2]) {
      const [message] = await receiveAll(opened, 'poison', 1);
      assert.equal(message!.receive_count, receives);
      await opened.queue.release('poison', [message!.receipt]);
    }
    await opened.queue.send('poison', [{ body: 'sound' }]);
    assert.equal((await receiveAll(opened, 'poison', 1))[0]!.body, 'sound');
    const [letter, ...others] = await eventually(async () => {
      const letters = await opened.queue.listDead('poison', { offset: 0, limit: 10 });
      return letters.length > 0 && letters;
    }, 'the dead letter');
    assert.deepEqual(others, []);
    assert.deepEqual(
      [letter!.body, letter!.reason, letter!.receive_count],
      ['x', 'received 2 times and never settled', 2],
    );
  });
}

function waiting(subject: Subject): void {
  test('wakes a receiver that waits as soon as something is sent', async () => {
    const opened = await subject.open();
    await assertEmpty(opened, 'waited');
    const received = opened.queue.receive('waited', options({ wait_ms: 20_000 }));
    await opened.queue.send('waited', [{ body: 'x' }]);
    assert.equal((await received).length, 1);
  });

  test('wakes receivers that wait when a message is released and when one is redriven', async () => {
    const opened = await subject.open();
    const { queue } = opened;
    await queue.send('handed', [{ body: 'x' }]);
    const [first] = await receiveAll(opened, 'handed', 1);
    const afterRelease = queue.receive('handed', options({ wait_ms: 20_000 }));
    await queue.release('handed', [first!.receipt]);
    const [second] = await afterRelease;
    await queue.deadLetter('handed', [{ receipt: second!.receipt, reason: 'r' }]);
    const afterRedrive = queue.receive('handed', options({ wait_ms: 20_000 }));
    assert.equal(await queue.redrive('handed', null), 1);
    assert.equal((await afterRedrive).length, 1);
  });

  test('ends a wait with nothing when it is aborted, before or during it', async () => {
    const opened = await subject.open();
    const abort = new AbortController();
    const received = opened.queue.receive('aborted', options({ wait_ms: ONE_MINUTE, signal: abort.signal }));
    abort.abort();
    assert.deepEqual(await received, []);
    assert.deepEqual(await opened.queue.receive('aborted', options({ wait_ms: ONE_MINUTE, signal: abort.signal })), []);
    await opened.queue.send('aborted', [{ body: 'still comes' }]);
    assert.equal((await receiveAll(opened, 'aborted', 1))[0]!.body, 'still comes');
  });

  test('ends every wait when it is closed, and refuses what comes later', async () => {
    const { queue } = await subject.open();
    const waits = ['a', 'a', 'b'].map((name) => queue.receive(name, options({ wait_ms: ONE_MINUTE })));
    await queue.close();
    assert.deepEqual(await Promise.all(waits), [[], [], []]);
    assert.deepEqual(await queue.receive('a', options({ wait_ms: ONE_MINUTE })), []);
    await assert.rejects(queue.send('a', [{ body: 'x' }]), { code: 'SHUTTING_DOWN' });
  });
}

function sets(subject: Subject): void {
  test('takes sets of any size and hands out at most as many as asked for', async () => {
    const opened = await subject.open();
    const { queue } = opened;
    await queue.send('sets', []);
    await queue.delete('sets', []);
    const bodies = Array.from({ length: 1_203 }, (_, n) => String(n));
    await queue.send(
      'sets',
      bodies.map((body) => ({ body })),
    );
    const [three] = [await queue.receive('sets', options({ max: 3 }))];
    assert.ok(three.length <= 3);
    const others = await receiveAll(opened, 'sets', bodies.length - three.length, { max: 1_000 });
    const all = [...three, ...others];
    assert.deepEqual(
      all.map(({ body }) => Number(body)).sort((a, b) => a - b),
      bodies.map(Number),
    );
    await queue.extend('sets', receipts(all), ONE_MINUTE);
    await queue.delete('sets', receipts(all));
    assert.deepEqual(await queue.depth('sets'), { visible: 0, in_flight: 0, delayed: 0, dead: 0 });
    await assert.rejects(queue.receive('sets', options({ max: 1_001 })), RangeError);
    await assert.rejects(queue.receive('sets', options({ max: 0 })), RangeError);
  });

  test('settles those of a set whose receipts are valid, whatever the others are', async () => {
    const opened = await subject.open();
    const { queue } = opened;
    await queue.send('partial', [{ body: 'gone' }, { body: 'held' }]);
    const received = await receiveAll(opened, 'partial', 2);
    const gone = received.find(({ body }) => body === 'gone')!;
    const held = received.find(({ body }) => body === 'held')!;
    await queue.delete('partial', [gone.receipt]);
    await queue.delete('partial', [gone.receipt, held.receipt, 'nonsense']);
    assert.deepEqual(await queue.depth('partial'), { visible: 0, in_flight: 0, delayed: 0, dead: 0 });
  });

  test('refuses a whole call where one of its messages cannot be', async () => {
    const opened = await subject.open();
    await assert.rejects(opened.queue.send('refused', [{ body: 'fine' }, { body: 'x', id: 'no-uuid' }]), {
      code: 'VALIDATION_FAILED',
    });
    await assert.rejects(opened.queue.send('refused', [{ body: 'fine' }, { body: 'x'.repeat(17 * 1_048_576) }]), {
      code: 'BODY_TOO_LARGE',
    });
    await assertEmpty(opened, 'refused');
  });
}

function transactions(subject: Subject): void {
  test('sends within a transaction when it commits, and never where it rolls back', async () => {
    const opened = await subject.open();
    const { queue, database } = opened;
    const failure = new Error('the caller changed its mind');
    await assert.rejects(
      database.transaction(async (tx) => {
        await queue.sendIn(tx, 'outbox', [{ body: 'never' }]);
        throw failure;
      }),
      failure,
    );
    let seenBeforeCommit: ReceivedMessage[] | undefined;
    await database.transaction(async (tx) => {
      await queue.sendIn(tx, 'outbox', [{ body: 'one' }, { body: '🧵'.repeat(100_000) }]);
      seenBeforeCommit = await queue.receive('outbox', options());
    });
    assert.deepEqual(seenBeforeCommit, []);
    const received = await receiveAll(opened, 'outbox', 2, { wait_ms: 20_000 });
    assert.deepEqual(
      received.map(({ body }) => body.length).sort((a, b) => a - b),
      [3, 200_000],
    );
    await assertEmpty(opened, 'outbox');
  });

  test('wakes a receiver that waits when a transaction that sent commits', async () => {
    const opened = await subject.open();
    const { queue, database } = opened;
    const received = queue.receive('woken', options({ wait_ms: 20_000 }));
    await database.transaction((tx) => queue.sendIn(tx, 'woken', [{ body: 'x' }]));
    assert.equal((await received).length, 1);
  });
}

function competition(subject: Subject): void {
  test('never lets two of many receivers hold the same message', async () => {
    const opened = await subject.open();
    const { queue } = opened;
    const total = 300;
    const held = new Set<string>();
    const handled = new Set<string>();
    const allHandled = new AbortController();
    const receiver = async (): Promise<void> => {
      while (handled.size < total) {
        const messages = await queue.receive(
          'contended',
          options({ max: 7, wait_ms: ONE_MINUTE, signal: allHandled.signal }),
        );
        for (const { id } of messages) {
          assert.ok(!held.has(id) && !handled.has(id), 'another consumer has it');
          held.add(id);
        }
        // A turn of the event loop, in which others may go wrong.
        await new Promise((resolve) => setImmediate(resolve));
        for (const { id } of messages) {
          held.delete(id);
          handled.add(id);
        }
        await queue.delete('contended', receipts(messages));
      }
      allHandled.abort();
    };
    const receivers = Array.from({ length: 8 }, receiver);
    for (let sent = 0; sent < total; sent += 20) {
      await queue.send(
        'contended',
        Array.from({ length: 20 }, (_, n) => ({ body: String(sent + n) })),
      );
    }
    await Promise.all(receivers);
    assert.equal(handled.size, total);
    await assertEmpty(opened, 'contended');
  });
}
