/** The sequence of calls that SQS receives over HTTP. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';

import { DEFAULT_RESOURCE_CLASSES } from '@heddle/base/vocabulary/resource-class';
import type { RunnerMessage } from '../../../src/domain/runner/runner.ts';
import { SqsClassicBackend } from '../../../src/pool/backends/sqs-classic.ts';
import { SqsShardedBackend } from '../../../src/pool/backends/sqs-sharded.ts';
import { shardOf } from '../../../src/pool/backends/shards.ts';
import type { PickupPolicy } from '../../../src/pool/pickup/policy.ts';
import type { OpenedQueue } from '../../../src/queue/open.ts';
import { isCarried } from '../../../src/queue/sqs-envelope.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { closeSqs, openSqs, startSqs } from '../../support/queue/fauxqs.ts';
import { eventually } from '@heddle/test-support/eventually';
import { MALFORMED, UNUSABLE } from '../../support/pool/pickup/bad-messages.ts';
import { ClaimBook, requestOf, runnerOf } from '@heddle/test-support/pool/backends/claim-book';
import { SqsProxy } from '../../support/pool/backends/sqs-proxy.ts';
import type { QueueDriver } from '../../support/pool/backends/worlds.ts';

const LARGE = 'pool:large';
const RECEIVE = 'ReceiveMessage 1, wait 0, hidden 30';
const SEND_LATER = 'SendMessageBatch 1, delay 3';
const SEND = 'SendMessageBatch 1, delay 0';
const DELETE = 'DeleteMessageBatch 1';
const CLAIM = 'claim';

const server = await startSqs();
const proxy = await SqsProxy.start(server.address);
const opened: OpenedQueue[] = [];
after(async () => {
  await Promise.all(opened.map(closeSqs));
  await proxy.stop();
  await server.stop();
});

/** A backend whose queues contain these runners; its calls are recorded from now on. */
async function open(driver: QueueDriver, runners: readonly RunnerMessage[], numbers: Partial<PickupPolicy> = {}) {
  const { queue, ...rest } = await openSqs(proxyOf(), null);
  opened.push({ queue, ...rest });
  const book = new ClaimBook();
  const claim: ClaimBook['claim'] = (request, ids) => {
    proxy.calls.push(CLAIM);
    return book.claim(request, ids);
  };
  const options = {
    store: { claim },
    queue,
    classes: DEFAULT_RESOURCE_CLASSES,
    policy: { offer_delay_ms: 0, ...numbers },
    clock: systemClock,
    log: silentLogger,
  };
  const backend =
    driver === 'sqs-classic' ? new SqsClassicBackend(options) : new SqsShardedBackend({ ...options, types: book });
  const names = driver === 'sqs-classic' ? [LARGE] : runners.map(shardOf);
  // Queues are created on first use, which is not tested here.
  for (const name of names) await queue.receive(name, { max: 1, wait_ms: 0, visibility_ms: 1_000 });
  await backend.offer(book.add(...runners));
  proxy.calls.length = 0;
  proxy.losesAnswersOf = null;
  return { backend, book, queue, calls: proxy.calls };
}

function proxyOf(): typeof server {
  return { ...server, address: proxy.address };
}

describe('the calls of sqs-classic', () => {
  test('a valid message: received, checked, passed on, claimed, and only then deleted', async () => {
    const { backend, book, calls } = await open('sqs-classic', [runnerOf()]);
    const [served] = await backend.serve([requestOf()]);
    assert.equal(served?.grant?.runners.length, 1);
    assert.equal(book.idle.size, 0);
    assert.deepEqual(calls, [RECEIVE, CLAIM, DELETE]);
  });

  test('global exhaustion: no message, and no runner is granted', async () => {
    const { backend, calls } = await open('sqs-classic', []);
    const [served] = await backend.serve([requestOf()]);
    assert.equal(served?.exhaustion, 'global');
    assert.deepEqual(calls, [RECEIVE]);
  });

  test('an unfitting runner: requeued with a short delay before its message is deleted', async () => {
    const { backend, queue, calls } = await open('sqs-classic', [runnerOf({ usage_class: 'spot' })]);
    const [served] = await backend.serve([requestOf()]);
    assert.equal(served?.exhaustion, 'local');
    assert.deepEqual(calls, [RECEIVE, SEND_LATER, DELETE, RECEIVE]);
    assert.equal((await queue.depth(LARGE)).delayed, 1);
  });

  test('local exhaustion: the sixth sighting of a runner is requeued too, and ends the search', async () => {
    const runner = runnerOf({ instance_type: 'b.large' });
    const { backend, queue, calls } = await open('sqs-classic', [runner], { requeue_delay_ms: 0 });
    const [served] = await backend.serve([requestOf({ allowed_instance_types: ['a.*'] })]);
    assert.equal(served?.exhaustion, 'local');
    const cycle = [RECEIVE, SEND, DELETE];
    assert.deepEqual(calls, [...cycle, ...cycle, ...cycle, ...cycle, ...cycle, ...cycle]);
    assert.equal((await queue.depth(LARGE)).visible, 1);
  });

  test('a failed claim of a runner that is gone: its message is deleted, and the next one is received', async () => {
    const { backend, book, calls } = await open('sqs-classic', [runnerOf()]);
    book.idle.clear();
    const [served] = await backend.serve([requestOf()]);
    assert.equal(served?.exhaustion, 'global');
    assert.deepEqual(calls, [RECEIVE, CLAIM, DELETE, RECEIVE]);
  });

  test('a gang: held until there are enough, claimed together, deleted together', async () => {
    const { backend, calls } = await open('sqs-classic', [runnerOf(), runnerOf(), runnerOf()]);
    const [served] = await backend.serve([requestOf({ count: 3 })]);
    assert.equal(served?.grant?.runners.length, 3);
    assert.deepEqual(calls, [RECEIVE, RECEIVE, RECEIVE, CLAIM, 'DeleteMessageBatch 3']);
  });

  test('malformed and unusable messages: each is received and deleted', async () => {
    const { backend, queue, calls } = await open('sqs-classic', []);
    // SQS itself refuses the others.
    const bodies = [...MALFORMED, ...UNUSABLE].map(({ body }) => body).filter((body) => isCarried(body, body.length));
    assert.ok(bodies.length > 120);
    await queue.send(
      LARGE,
      bodies.map((body) => ({ body })),
    );
    calls.length = 0;
    const [served] = await backend.serve([requestOf()]);
    assert.equal(served?.exhaustion, 'global');
    assert.deepEqual(calls, [...bodies.flatMap(() => [RECEIVE, DELETE]), RECEIVE]);
    assert.equal(backend.counts.discarded, bodies.length);
    const { visible, in_flight, delayed } = await queue.depth(LARGE);
    assert.deepEqual({ visible, in_flight, delayed }, { visible: 0, in_flight: 0, delayed: 0 });
  });

  test('a lost response loses no runner: the message reappears after its visibility timeout', async () => {
    const { backend, queue } = await open('sqs-classic', [runnerOf()], { visibility_ms: 1_000 });
    proxy.losesAnswersOf = 'ReceiveMessage';
    await assert.rejects(backend.serve([requestOf()]), { code: 'QUEUE_UNAVAILABLE' });
    proxy.losesAnswersOf = null;
    const served = await eventually(async () => {
      const [answer] = await backend.serve([requestOf()]);
      return answer?.grant ?? undefined;
    }, 'the message is visible again');
    assert.equal(served.runners.length, 1);
    const { visible, in_flight } = await queue.depth(LARGE);
    assert.deepEqual({ visible, in_flight }, { visible: 0, in_flight: 0 });
  });
});

describe('a lost response of SQS', () => {
  test('to a delete does not affect the grant', async () => {
    const { backend, book } = await open('sqs-classic', [runnerOf()]);
    proxy.losesAnswersOf = 'DeleteMessageBatch';
    const [served] = await backend.serve([requestOf()]);
    proxy.losesAnswersOf = null;
    assert.equal(served?.grant?.runners.length, 1);
    assert.equal(book.idle.size, 0);
  });

  test('to a requeue duplicates the message, which is harmless', async () => {
    const { backend, book } = await open('sqs-classic', [runnerOf({ usage_class: 'spot' })], {
      visibility_ms: 1_000,
      requeue_delay_ms: 0,
    });
    proxy.losesAnswersOf = 'SendMessageBatch';
    await assert.rejects(backend.serve([requestOf()]), { code: 'QUEUE_UNAVAILABLE' });
    proxy.losesAnswersOf = null;
    const requests = [requestOf({ usage_class: 'spot' }), requestOf({ usage_class: 'spot' })];
    const granted: boolean[] = [];
    for (const request of requests) granted.push((await backend.serve([request]))[0]?.grant !== null);
    assert.deepEqual(granted, [true, false]);
    assert.equal(book.holders.size, 1);
  });
});

describe('the calls of sqs-sharded', () => {
  const HIDDEN = 'hidden 30';

  test('one request: one receive, one claim, one delete', async () => {
    const { backend, calls } = await open('sqs-sharded', [runnerOf()]);
    const [served] = await backend.serve([requestOf()]);
    assert.equal(served?.grant?.runners.length, 1);
    assert.deepEqual(calls, [`ReceiveMessage 1, wait 0, ${HIDDEN}`, CLAIM, DELETE]);
  });

  test('ten requests share one receive and one delete', async () => {
    const { backend, calls } = await open(
      'sqs-sharded',
      Array.from({ length: 10 }, () => runnerOf()),
    );
    const served = await backend.serve(Array.from({ length: 10 }, () => requestOf()));
    assert.ok(served.every(({ grant }) => grant !== null));
    const claims = Array.from({ length: 10 }, () => CLAIM);
    assert.deepEqual(calls, [`ReceiveMessage 10, wait 0, ${HIDDEN}`, ...claims, 'DeleteMessageBatch 10']);
  });

  test('an empty response is confirmed by a long poll', async () => {
    const runner = runnerOf();
    const { backend, book, calls } = await open('sqs-sharded', [runner]);
    await backend.serve([requestOf()]);
    calls.length = 0;
    const [served] = await backend.serve([requestOf()]);
    assert.equal(served?.exhaustion, 'global');
    assert.equal(book.idle.size, 0);
    assert.deepEqual(calls, [`ReceiveMessage 1, wait 0, ${HIDDEN}`, `ReceiveMessage 1, wait 1, ${HIDDEN}`]);
  });

  test('types that fit no request cost no call', async () => {
    const { backend, calls } = await open('sqs-sharded', [runnerOf()]);
    const [served] = await backend.serve([requestOf({ allowed_instance_types: ['b.*'] })]);
    assert.equal(served?.exhaustion, 'local');
    assert.deepEqual(calls, []);
  });
});
