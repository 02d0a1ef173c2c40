import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { DEFAULT_RESOURCE_CLASSES } from '@heddle/base/vocabulary/resource-class';
import type { RunnerMessage } from '../../../src/domain/runner/runner.ts';
import { shardOf } from '../../../src/pool/backends/shards.ts';
import { SqsShardedBackend } from '../../../src/pool/backends/sqs-sharded.ts';
import { writeRunnerMessage } from '../../../src/pool/pickup/message.ts';
import type { PickupPolicy } from '../../../src/pool/pickup/policy.ts';
import type { Served } from '../../../src/pool/port/backend.ts';
import type { RunnerRequest } from '../../../src/pool/port/store.ts';
import { MemoryQueue } from '@heddle/test-support/queue/memory-queue';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { MALFORMED, UNUSABLE } from '../../support/pool/pickup/bad-messages.ts';
import { ClaimBook, requestOf, runnerOf } from '@heddle/test-support/pool/backends/claim-book';
import { WatchedQueue } from '../../support/pool/backends/watched-queue.ts';
import { settled } from '../../support/pool/backends/worlds.ts';

function open(policy: Partial<PickupPolicy> = {}) {
  const clock = new VirtualClock();
  const queue = new MemoryQueue({ clock });
  const watched = new WatchedQueue(queue);
  const book = new ClaimBook();
  const metrics: string[] = [];
  const backend = new SqsShardedBackend({
    ...{ store: book, types: book, queue: watched, classes: DEFAULT_RESOURCE_CLASSES, policy, clock },
    log: silentLogger,
    metrics: {
      requeued: (driver, count) => void metrics.push(`${driver} requeued ${count}`),
      discarded: (driver, count) => void metrics.push(`${driver} discarded ${count}`),
    },
  });
  const put = async (...runners: readonly RunnerMessage[]): Promise<void> => {
    await backend.offer(book.add(...runners));
    watched.calls.length = 0;
  };
  const serve = (...requests: readonly RunnerRequest[]): Promise<Served[]> => settled(backend.serve(requests), clock);
  return { clock, queue, watched, calls: watched.calls, book, backend, metrics, put, serve };
}

function many(count: number, overrides: Partial<RunnerMessage> = {}): RunnerMessage[] {
  return Array.from({ length: count }, () => runnerOf(overrides));
}

function typesOf(served: readonly Served[]): (string | null)[] {
  return served.map(({ grant }) => grant?.runners[0]?.instance_type ?? null);
}

const A = 'pool:large:on-demand:a.large';
const B = 'pool:large:on-demand:b.large';

describe('the backend sqs-sharded', () => {
  test('expands patterns to the existing shards and polls no others', async () => {
    const { put, serve, calls } = open();
    await put(
      runnerOf(),
      runnerOf({ instance_type: 'b.large' }),
      runnerOf({ instance_type: 'b.larger' }),
      runnerOf({ instance_type: 'B.large', usage_class: 'spot' }),
      runnerOf({ instance_type: 'b.xlarge', resource_class: 'xlarge', cpu: 4, memory_mib: 8_192 }),
    );
    const served = await serve(requestOf({ allowed_instance_types: ['B.*rge'] }));
    assert.deepEqual(typesOf(served), ['b.large']);
    assert.deepEqual(
      calls.filter((call) => call.startsWith('receive')),
      [`receive ${B} 1 within 0`],
    );
  });

  test('a type whose runners do not match their class has no shard', async () => {
    const { put, serve, calls } = open();
    await put(runnerOf({ cpu: 3 }), runnerOf({ memory_mib: 1 }));
    const [served] = await serve(requestOf());
    assert.equal(served?.grant, null);
    assert.deepEqual(calls, []);
  });

  test('a burst costs little more than one receive and one delete per ten requests', async () => {
    const { put, serve, calls, book } = open();
    await put(...many(400), ...many(400, { instance_type: 'b.large' }));
    const requests = Array.from({ length: 800 }, (_, at) =>
      requestOf({ allowed_instance_types: [at % 2 === 0 ? 'a.*' : 'b.*'] }),
    );
    const served = await serve(...requests);
    assert.ok(served.every(({ grant }) => grant !== null));
    assert.equal(book.idle.size, 0);
    const receives = calls.filter((call) => call.startsWith('receive')).length;
    assert.ok(receives <= 90, `${receives} receives for 800 requests`);
  });

  test('a long poll corrects a short poll that wrongly returned nothing', async () => {
    const { put, serve, watched, calls } = open();
    await put(...many(3));
    watched.falseEmpties = () => true;
    const served = await serve(requestOf(), requestOf(), requestOf());
    assert.ok(served.every(({ grant }) => grant !== null));
    assert.deepEqual(calls.slice(0, 2), [`receive ${A} 3 within 0`, `receive ${A} 3 within 1000`]);
  });

  test('a runner that arrives before the pool is confirmed empty is used', async () => {
    const { put, serve, backend, book, clock } = open();
    await put(runnerOf());
    await serve(requestOf());
    const serving = serve(requestOf());
    clock.after(500, () => void backend.offer(book.add(runnerOf())));
    const [served] = await serving;
    assert.equal(served?.grant?.runners.length, 1);
  });

  test('a type launched by another process is found before the search ends', async () => {
    const { put, serve, book, queue } = open();
    await put(runnerOf());
    await serve(requestOf());
    const [runner] = book.add(runnerOf({ instance_type: 'new.large' }));
    await queue.send(shardOf(runner!), [{ body: writeRunnerMessage(runner!) }]);
    const [served] = await serve(requestOf());
    assert.equal(served?.grant?.runners[0]?.id, runner!.id);
  });

  test('an idle runner whose message was lost makes the pool uncertain', async () => {
    const { serve, book } = open();
    book.add(runnerOf());
    const [served] = await serve(requestOf());
    assert.equal(served?.exhaustion, 'uncertain');
    const [both] = await serve(requestOf({ count: 2 }));
    assert.equal(both?.exhaustion, 'local');
  });

  test('a runner of the same type with too little memory is returned at once', async () => {
    const { put, serve, queue, metrics } = open();
    const large = runnerOf({ memory_mib: 8_192 });
    await put(runnerOf(), runnerOf(), large);
    const [served] = await serve(requestOf({ memory_mib: 8_000 }));
    assert.equal(served?.grant?.runners[0]?.id, large.id);
    assert.equal((await queue.depth(A)).visible, 2);
    assert.ok(metrics.every((line) => line.startsWith('sqs-sharded requeued')));
    const others = await serve(requestOf(), requestOf());
    assert.ok(others.every(({ grant }) => grant !== null));
  });

  test('a message in the wrong shard serves a fitting request or moves to its own shard', async () => {
    const { put, serve, queue, book } = open();
    await put(runnerOf());
    const misplaced = book.add(...many(2, { instance_type: 'b.large' }));
    await queue.send(
      A,
      misplaced.map((runner) => ({ body: writeRunnerMessage(runner) })),
    );
    const served = await serve(requestOf({ allowed_instance_types: ['a.*'], count: 1 }), requestOf({ count: 3 }));
    assert.deepEqual(typesOf(served.slice(0, 1)), ['a.large']);
    assert.equal((await queue.depth(A)).visible, 0);
    assert.equal((await queue.depth(B)).visible, 2);
  });

  test('malformed and unusable messages are discarded in batches', async () => {
    const { put, serve, queue, backend, metrics } = open();
    await put(runnerOf());
    await serve(requestOf());
    const bad = [...MALFORMED, ...UNUSABLE];
    await queue.send(
      A,
      bad.map(({ body }) => ({ body })),
    );
    const before = backend.counts.operations;
    const [served] = await serve(requestOf({ count: 10 }));
    assert.equal(served?.exhaustion, 'global');
    assert.equal(backend.counts.discarded, bad.length);
    assert.ok(metrics.every((line) => line.startsWith('sqs-sharded discarded')));
    assert.ok(backend.counts.operations - before < bad.length / 2);
    assert.deepEqual(await queue.depth(A), { visible: 0, in_flight: 0, delayed: 0, dead: 0 });
  });

  test('duplicate messages of a runner are deleted, however many there are', async () => {
    const { put, serve, queue, book } = open();
    const runner = runnerOf();
    await put(runner, ...Array.from({ length: 25 }, () => runner));
    const served = await serve(requestOf(), requestOf());
    assert.equal(book.holders.size, 1);
    assert.equal(served.filter(({ grant }) => grant !== null).length, 1);
    assert.deepEqual(await queue.depth(A), { visible: 0, in_flight: 0, delayed: 0, dead: 0 });
  });

  test('if two gangs hold too few runners, the first one gets all of them', async () => {
    const { put, serve } = open();
    await put(...many(2), ...many(2, { instance_type: 'b.large' }));
    const served = await serve(
      requestOf({ count: 4 }),
      requestOf({ count: 3, allowed_instance_types: ['b.*'] }),
      requestOf({ count: 3, allowed_instance_types: ['a.*'] }),
    );
    assert.deepEqual(
      served.map(({ grant }) => grant?.runners.length ?? 0),
      [4, 0, 0],
    );
  });

  test('a flood of messages of ended runners makes the pool uncertain instead of serving endlessly', async () => {
    const { serve, backend, book, watched } = open({ looks_max: 50 });
    book.add(runnerOf());
    // As many ended runners as the maximum number of messages.
    watched.beforeReceive = () => backend.offer(many(10));
    const [served] = await serve(requestOf());
    assert.equal(served?.exhaustion, 'uncertain');
  });

  test('serving ends as uncertain after the maximum time, however few messages were received', async () => {
    const { clock, serve, backend, book, watched } = open({ look_ms: 10_000 });
    book.add(runnerOf());
    // Messages of ended runners, from a slow queue service.
    watched.beforeReceive = async () => {
      await clock.advance(3_000);
      await backend.offer(many(1));
    };
    const [served] = await serve(requestOf());
    assert.equal(served?.exhaustion, 'uncertain');
    assert.ok(watched.calls.filter((call) => call.startsWith('receive')).length < 10);
  });

  test('a shard that was empty recently is polled last', async () => {
    const { put, serve, calls } = open();
    await put(runnerOf());
    await put(runnerOf({ instance_type: 'b.large' }), runnerOf({ instance_type: 'b.large' }));
    assert.deepEqual(typesOf(await serve(requestOf())), ['a.large']);
    assert.deepEqual(typesOf(await serve(requestOf())), ['b.large']);
    calls.length = 0;
    assert.deepEqual(typesOf(await serve(requestOf())), ['b.large']);
    assert.deepEqual(calls, [`receive ${B} 1 within 0`, `delete ${B} 1`]);
  });
});
