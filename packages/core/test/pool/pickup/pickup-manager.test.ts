import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { DEFAULT_RESOURCE_CLASSES } from '@heddle/base/vocabulary/resource-class';
import type { RunnerMessage } from '../../../src/domain/runner/runner.ts';
import { byName, newCounts } from '../../../src/pool/backends/queue-backend.ts';
import { classQueueOf } from '../../../src/pool/backends/sqs-classic.ts';
import { writeRunnerMessage } from '../../../src/pool/pickup/message.ts';
import { PickupManager } from '../../../src/pool/pickup/pickup-manager.ts';
import { CLASSIC_POLICY, type PickupPolicy } from '../../../src/pool/pickup/policy.ts';
import { PoolMessages } from '../../../src/pool/pickup/pool-messages.ts';
import type { RunnerRequest } from '../../../src/pool/port/store.ts';
import { MemoryQueue } from '@heddle/test-support/queue/memory-queue';
import { VirtualClock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { requestOf, runnerOf } from '@heddle/test-support/pool/backends/claim-book';
import { WatchedQueue } from '../../support/pool/backends/watched-queue.ts';
import { MALFORMED, UNUSABLE } from '../../support/pool/pickup/bad-messages.ts';

const LARGE = 'pool:large';
const RECEIVE = 'receive pool:large 1 within 0';
const REQUEUE = ['send pool:large 1 after 3000', 'delete pool:large 1'];

class Lines implements Logger {
  readonly lines: { level: string; fields: Record<string, unknown> }[] = [];
  readonly debug = this.#at('debug');
  readonly info = this.#at('info');
  readonly warn = this.#at('warn');
  readonly error = this.#at('error');
  child(): Logger {
    return this;
  }
  #at(level: string) {
    return (fields: object): void => void this.lines.push({ level, fields: { ...fields } });
  }
}

function open(request: Partial<RunnerRequest> = {}, numbers: Partial<PickupPolicy> = {}) {
  const clock = new VirtualClock();
  const queue = new MemoryQueue({ clock });
  const watched = new WatchedQueue(queue);
  const policy = { ...CLASSIC_POLICY, ...numbers };
  const counts = newCounts();
  const log = new Lines();
  const messages = new PoolMessages({
    queue: watched,
    queueOf: classQueueOf,
    policy,
    counts,
    log,
    driver: 'sqs-classic',
  });
  const classes = byName(DEFAULT_RESOURCE_CLASSES);
  const requirements = requestOf(request);
  const manager = new PickupManager({ messages, queue: LARGE, requirements, classes, policy, counts, clock });
  /** Sends one after the other, so that they are found in this order. */
  const put = async (...runners: readonly RunnerMessage[]): Promise<void> => {
    for (const runner of runners) {
      await queue.send(LARGE, [{ body: writeRunnerMessage(runner) }]);
      await clock.advance(1);
    }
  };
  return { clock, queue, calls: watched.calls, manager, counts, log, put };
}

describe('the pickup manager', () => {
  test('passes on a runner that fits, and holds its message', async () => {
    const { manager, queue, calls, counts, put } = open();
    const runner = runnerOf();
    await put(runner);
    const candidate = await manager.next();
    assert.deepEqual(candidate?.runner, runner);
    assert.deepEqual(calls, [RECEIVE]);
    assert.deepEqual(await queue.depth(LARGE), { visible: 0, in_flight: 1, delayed: 0, dead: 0 });
    assert.deepEqual(counts, { operations: 1, picked: 1, requeued: 0, discarded: 0 });
    assert.equal(manager.exhaustion, null);
  });

  test('finds an empty queue globally exhausted, and stops receiving', async () => {
    const { manager, calls, put } = open();
    assert.equal(await manager.next(), null);
    assert.equal(manager.exhaustion, 'global');
    await put(runnerOf());
    assert.equal(await manager.next(), null);
    assert.deepEqual(calls, [RECEIVE]);
  });

  const strangers: readonly [string, Partial<RunnerMessage>, Partial<RunnerRequest>][] = [
    ['another type', { instance_type: 'b.large' }, { allowed_instance_types: ['a.*', 'c*'] }],
    ['another usage', { usage_class: 'spot' }, {}],
    ['on-demand where spot is wanted', {}, { usage_class: 'spot' }],
    ['too little memory', { memory_mib: 4_096 }, { memory_mib: 4_097 }],
  ];
  for (const [name, runner, request] of strangers) {
    test(`requeues ${name} with a delay, for others`, async () => {
      const { manager, clock, queue, calls, counts, put } = open(request);
      await put(runnerOf(runner));
      assert.equal(await manager.next(), null);
      // The unfitting runner is idle, so the pool is not empty.
      assert.equal(manager.exhaustion, 'local');
      assert.deepEqual(calls, [RECEIVE, ...REQUEUE, RECEIVE]);
      assert.deepEqual(await queue.depth(LARGE), { visible: 0, in_flight: 0, delayed: 1, dead: 0 });
      assert.deepEqual(counts, { operations: 4, picked: 0, requeued: 1, discarded: 0 });
      await clock.advance(3_000);
      assert.equal((await queue.depth(LARGE)).visible, 1);
    });
  }

  test('patterns are case-insensitive, and a star matches any string', async () => {
    const { manager, put } = open({ allowed_instance_types: ['*.LARGE'] });
    await put(runnerOf({ instance_type: 'M7i.Large' }));
    assert.notEqual(await manager.next(), null);
  });

  test('a runner of another class goes to the queue of its class', async () => {
    const { manager, queue, calls, put } = open();
    await put(runnerOf({ resource_class: 'xlarge', cpu: 4, memory_mib: 8_192 }));
    assert.equal(await manager.next(), null);
    assert.deepEqual(calls, [RECEIVE, 'send pool:xlarge 1 after 3000', 'delete pool:large 1', RECEIVE]);
    assert.equal((await queue.depth('pool:xlarge')).delayed, 1);
  });

  for (const { name, body, fault } of [...MALFORMED, ...UNUSABLE]) {
    test(`discards ${name}`, async () => {
      const { manager, queue, calls, counts, log, put } = open();
      await queue.send(LARGE, [{ body }]);
      await put(runnerOf());
      assert.notEqual(await manager.next(), null);
      assert.deepEqual(calls, [RECEIVE, 'delete pool:large 1', RECEIVE]);
      assert.equal(counts.discarded, 1);
      assert.equal(log.lines.length, 1);
      assert.ok(String(log.lines[0]!.fields['reason']).includes(fault));
      assert.equal(log.lines[0]!.level, fault === 'the runner has expired' ? 'debug' : 'warn');
    });
  }

  test('the sixth sighting of a runner requeues it and ends the search', async () => {
    const { manager, calls, counts, put } = open({ allowed_instance_types: ['b.*'] }, { requeue_delay_ms: 0 });
    await put(runnerOf());
    assert.equal(await manager.next(), null);
    assert.equal(manager.exhaustion, 'local');
    const cycle = [RECEIVE, 'send pool:large 1 after 0', 'delete pool:large 1'];
    assert.deepEqual(calls, Array.from({ length: 6 }, () => cycle).flat());
    assert.deepEqual(counts, { operations: 18, picked: 0, requeued: 6, discarded: 0 });
  });

  test('sightings are counted per runner, including those that fit', async () => {
    const { manager, put, queue } = open({}, { tolerance: 2 });
    const [one, other] = [runnerOf(), runnerOf()];
    await put(one, other, one, other, one);
    const found = [];
    for (let at = 0; at < 4; at += 1) found.push((await manager.next())?.runner.id);
    assert.deepEqual(found, [one.id, other.id, one.id, other.id]);
    assert.equal(await manager.next(), null);
    assert.equal(manager.exhaustion, 'local');
    assert.equal((await queue.depth(LARGE)).delayed, 1);
  });

  test('a message received while another claim worker found the pool exhausted is returned', async () => {
    const { manager, counts, put } = open({}, { tolerance: 1 });
    const runner = runnerOf();
    await put(runner, runner, runner, runnerOf());
    const found = await Promise.all(Array.from({ length: 4 }, () => manager.next()));
    assert.deepEqual(
      found.map((candidate) => candidate?.runner.id ?? null),
      [runner.id, null, null, null],
    );
    assert.equal(counts.requeued, 3);
    assert.equal(manager.exhaustion, 'local');
  });

  test('a pool of only unfitting runners is uncertain after the maximum number of messages', async () => {
    const { manager, calls, put } = open({ usage_class: 'spot' }, { looks_max: 7 });
    await put(...Array.from({ length: 20 }, () => runnerOf()));
    assert.equal(await manager.next(), null);
    assert.equal(manager.exhaustion, 'uncertain');
    assert.equal(calls.filter((call) => call === RECEIVE).length, 7);
  });

  test('a pool of only unfitting runners is uncertain after the maximum time, however few messages were received', async () => {
    const { manager, clock, calls, queue, put } = open({ usage_class: 'spot' }, { look_ms: 10_000 });
    await put(...Array.from({ length: 20 }, () => runnerOf()));
    const receive = queue.receive.bind(queue);
    // A slow queue service: each receive takes three seconds.
    queue.receive = async (...call) => {
      await clock.advance(3_000);
      return receive(...call);
    };
    assert.equal(await manager.next(), null);
    assert.equal(manager.exhaustion, 'uncertain');
    assert.equal(calls.filter((call) => call === RECEIVE).length, 4);
  });

  test('a requeued runner keeps all members of its message', async () => {
    const { manager, clock, queue, put } = open({ usage_class: 'spot' });
    const runner = runnerOf({ threshold: 1_800_000_000_000 });
    await put(runner);
    await manager.next();
    await clock.advance(3_000);
    const [message] = await queue.receive(LARGE, { max: 1, wait_ms: 0, visibility_ms: 1_000 });
    assert.equal(message?.body, writeRunnerMessage(runner));
    assert.equal(message.receive_count, 1);
  });
});
