import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { DEFAULT_RESOURCE_CLASSES } from '@heddle/base/vocabulary/resource-class';
import { SqsClassicBackend } from '../../../src/pool/backends/sqs-classic.ts';
import { writeRunnerMessage } from '../../../src/pool/pickup/message.ts';
import type { PickupPolicy } from '../../../src/pool/pickup/policy.ts';
import { MemoryQueue } from '@heddle/test-support/queue/memory-queue';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { ClaimBook, requestOf, runnerOf } from '@heddle/test-support/pool/backends/claim-book';
import { WatchedQueue } from '../../support/pool/backends/watched-queue.ts';

const LARGE = 'pool:large';
const RECEIVE = 'receive pool:large 1 within 0';

/** Serves one request with claim workers that share a pickup manager, as the classic backend does. */
function open(policy: Partial<PickupPolicy> = {}) {
  const clock = new VirtualClock();
  const queue = new MemoryQueue({ clock });
  const watched = new WatchedQueue(queue);
  const book = new ClaimBook();
  const backend = new SqsClassicBackend({
    store: { claim: (request, runners) => watched.step('claim', () => book.claim(request, runners)) },
    queue: watched,
    classes: DEFAULT_RESOURCE_CLASSES,
    policy: { offer_delay_ms: 0, ...policy },
    clock,
    log: silentLogger,
  });
  return { clock, queue, watched, calls: watched.calls, book, backend };
}

describe('claim workers', () => {
  test('the message is deleted after the claim has succeeded', async () => {
    const { backend, book, calls, queue } = open();
    const [runner] = book.add(runnerOf());
    await backend.offer([runner!]);
    calls.length = 0;
    const request = requestOf();
    const [served] = await backend.serve([request]);
    assert.equal(served?.grant?.runners[0]?.id, runner!.id);
    assert.equal(served.exhaustion, null);
    assert.deepEqual(calls, [RECEIVE, 'claim', 'delete pool:large 1']);
    assert.deepEqual(await queue.depth(LARGE), { visible: 0, in_flight: 0, delayed: 0, dead: 0 });
    assert.deepEqual(backend.counts, { operations: 4, picked: 1, requeued: 0, discarded: 0 });
  });

  test('a runner reserved for earlier requests is returned at once, and the pool counts as exhausted for this request', async () => {
    const { backend, book, queue } = open();
    const [runner] = book.add(runnerOf());
    book.barred.add(runner!.id);
    await backend.offer([runner!]);
    const [served] = await backend.serve([requestOf()]);
    assert.deepEqual([served?.grant, served?.exhaustion], [null, 'local']);
    assert.deepEqual(await queue.depth(LARGE), { visible: 1, in_flight: 0, delayed: 0, dead: 0 });
  });

  test('a runner that is gone is followed by the next one', async () => {
    const { backend, book, calls, clock, queue } = open();
    const gone = runnerOf();
    const [silent, idle] = book.add(runnerOf(), runnerOf());
    book.silent.add(silent!.id);
    for (const runner of [gone, silent!, idle!]) {
      await backend.offer([runner]);
      await clock.advance(1);
    }
    calls.length = 0;
    const [served] = await backend.serve([requestOf()]);
    assert.equal(served?.grant?.runners[0]?.id, idle!.id);
    assert.deepEqual(book.claims, [[gone.id], [silent!.id], [idle!.id]]);
    const cycle = [RECEIVE, 'claim', 'delete pool:large 1'];
    assert.deepEqual(calls, [...cycle, ...cycle, ...cycle]);
    assert.deepEqual(await queue.depth(LARGE), { visible: 0, in_flight: 0, delayed: 0, dead: 0 });
  });

  test('if the request has ended, the runner is returned at once', async () => {
    const { backend, book, calls, queue } = open();
    await backend.offer(book.add(runnerOf()));
    const request = requestOf();
    book.over.add(request.id);
    calls.length = 0;
    assert.deepEqual(await backend.serve([request]), [{ request_id: request.id, grant: null, exhaustion: null }]);
    assert.deepEqual(calls, [RECEIVE, 'claim', 'send pool:large 1 after 0', 'delete pool:large 1']);
    assert.equal((await queue.depth(LARGE)).visible, 1);
  });

  test('a failed claim returns the runner, and the error is thrown', async () => {
    const { backend, book, watched, queue, calls } = open();
    await backend.offer(book.add(runnerOf()));
    calls.length = 0;
    book.claim = () => Promise.reject(new Error('the database is away'));
    await assert.rejects(backend.serve([requestOf()]), /the database is away/);
    assert.equal((await queue.depth(LARGE)).visible, 1);
    assert.equal(watched.calls.at(-1), 'delete pool:large 1');
  });

  test('a failing request does not affect the grants of others', async () => {
    const { backend, book } = open({ width: 1 });
    await backend.offer(book.add(runnerOf(), runnerOf()));
    const requests = [requestOf(), requestOf(), requestOf()];
    const claim = book.claim.bind(book);
    book.claim = (request, runners) =>
      request === requests[1]!.id ? Promise.reject(new Error('away')) : claim(request, runners);
    const served = await backend.serve(requests);
    assert.deepEqual(
      served.map(({ request_id, grant, exhaustion }) => [request_id, grant !== null, exhaustion]),
      [
        [requests[0]!.id, true, null],
        [requests[1]!.id, false, 'uncertain'],
        [requests[2]!.id, false, 'uncertain'],
      ],
    );
  });

  test('a message that cannot be deleted does not affect the grant', async () => {
    const { backend, book, watched } = open();
    await backend.offer(book.add(runnerOf()));
    watched.calls.length = 0;
    watched.crashAt = { call: 2, when: 'before' };
    const [served] = await backend.serve([requestOf()]);
    assert.equal(served?.grant?.runners.length, 1);
  });

  test('a class that the pool does not have is exhausted, and gets no queue', async () => {
    const { backend, calls } = open();
    const [served] = await backend.serve([requestOf({ resource_class: 'gigantic' })]);
    assert.equal(served?.exhaustion, 'global');
    assert.deepEqual(calls, []);
  });
});

describe('claim workers of a gang', () => {
  test('hold candidates until there are enough, then claim them all', async () => {
    const { backend, book, calls, queue } = open();
    await backend.offer(book.add(...Array.from({ length: 12 }, () => runnerOf())));
    calls.length = 0;
    const [served] = await backend.serve([requestOf({ count: 12 })]);
    assert.equal(new Set(served?.grant?.runners.map(({ id }) => id)).size, 12);
    assert.deepEqual(calls, [...Array.from({ length: 12 }, () => RECEIVE), 'claim', 'delete pool:large 12']);
    assert.deepEqual(await queue.depth(LARGE), { visible: 0, in_flight: 0, delayed: 0, dead: 0 });
  });

  test('return all of them if there are too few', async () => {
    const { backend, book, queue } = open();
    await backend.offer(book.add(runnerOf(), runnerOf()));
    const [served] = await backend.serve([requestOf({ count: 3 })]);
    assert.equal(served?.grant, null);
    assert.equal(served.exhaustion, 'local');
    assert.deepEqual(book.claims, []);
    assert.equal((await queue.depth(LARGE)).visible, 2);
    const [pair] = await backend.serve([requestOf({ count: 2 })]);
    assert.equal(pair?.grant?.runners.length, 2);
  });

  test('search for replacements of runners that are gone', async () => {
    const { backend, book, clock } = open();
    const gone = runnerOf();
    const idle = book.add(runnerOf(), runnerOf());
    for (const runner of [idle[0]!, gone, idle[1]!]) {
      await backend.offer([runner]);
      await clock.advance(1);
    }
    const [served] = await backend.serve([requestOf({ count: 2 })]);
    assert.deepEqual(served?.grant?.runners.map(({ id }) => id).sort(), idle.map(({ id }) => id).sort());
  });

  test('count a runner with two messages once', async () => {
    const { backend, book, clock } = open();
    const [one, other] = book.add(runnerOf(), runnerOf());
    for (const runner of [one!, one!, other!]) {
      await backend.offer([runner]);
      await clock.advance(1);
    }
    const [served] = await backend.serve([requestOf({ count: 2 })]);
    assert.equal(served?.grant?.runners.length, 2);
    assert.deepEqual(book.claims[0]?.length, 2);
  });

  test('return candidates that the store did not take for a request that already has its runners', async () => {
    const { backend, book, queue } = open();
    await backend.offer(book.add(runnerOf(), runnerOf()));
    const request = requestOf({ count: 2 });
    // One of the two was granted by an earlier try whose answer was lost.
    book.claim = (id, ids) => {
      const runners = [{ id: ids[0]!, number: 2, epoch: 1, instance_type: 'a.large', address: null }];
      return Promise.resolve({ grant: { request_id: id, runners }, answers: ['claimed', 'settled'] });
    };
    const [served] = await backend.serve([request]);
    assert.notEqual(served?.grant, null);
    assert.deepEqual(await queue.depth(LARGE), { visible: 1, in_flight: 0, delayed: 0, dead: 0 });
  });

  test('keep their candidates hidden while they search', async () => {
    const { backend, book, clock, queue, watched, calls } = open({ visibility_ms: 1_000 });
    const runners = book.add(...Array.from({ length: 40 }, () => runnerOf()));
    await queue.send(
      LARGE,
      runners.map((runner) => ({ body: writeRunnerMessage(runner) })),
    );
    watched.beforeReceive = () => clock.advance(400);
    const [served] = await backend.serve([requestOf({ count: 40 })]);
    assert.equal(served?.grant?.runners.length, 40);
    assert.equal(calls.filter((call) => call === RECEIVE).length, 40, 'nothing was received twice');
    assert.ok(calls.some((call) => call.startsWith('extend ')));
  });
});
