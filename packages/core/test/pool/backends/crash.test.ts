/** A process dies before or after any call: no runner is lost, and none is granted twice. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { DEFAULT_RESOURCE_CLASSES } from '@heddle/base/vocabulary/resource-class';
import type { RunnerMessage } from '../../../src/domain/runner/runner.ts';
import { SqsClassicBackend } from '../../../src/pool/backends/sqs-classic.ts';
import { SqsShardedBackend } from '../../../src/pool/backends/sqs-sharded.ts';
import type { PoolBackend } from '../../../src/pool/port/backend.ts';
import type { RunnerRequest } from '../../../src/pool/port/store.ts';
import { MemoryQueue } from '@heddle/test-support/queue/memory-queue';
import type { MessageQueue } from '../../../src/queue/port.ts';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { ClaimBook, requestOf, runnerOf } from '@heddle/test-support/pool/backends/claim-book';
import { WatchedQueue, type CrashPoint } from '../../support/pool/backends/watched-queue.ts';
import { QUEUE_DRIVERS, settled, type QueueDriver } from '../../support/pool/backends/worlds.ts';

interface Story {
  readonly name: string;
  readonly runners: () => RunnerMessage[];
  /** Number of idle runners; the queues also contain messages of runners that are gone. */
  readonly gone?: () => RunnerMessage[];
  readonly requests: () => RunnerRequest[];
}

const STORIES: readonly Story[] = [
  { name: 'one request and its runner', runners: () => [runnerOf()], requests: () => [requestOf()] },
  {
    name: 'runners that do not fit',
    runners: () => [runnerOf({ instance_type: 'b.large' }), runnerOf(), runnerOf({ usage_class: 'spot' })],
    requests: () => [requestOf({ allowed_instance_types: ['a.*'] })],
  },
  {
    name: 'runners that are gone',
    runners: () => [runnerOf()],
    gone: () => [runnerOf(), runnerOf()],
    requests: () => [requestOf()],
  },
  {
    name: 'a gang',
    runners: () => [runnerOf(), runnerOf(), runnerOf()],
    requests: () => [requestOf({ count: 3 })],
  },
  {
    name: 'a gang, too few runners',
    runners: () => [runnerOf(), runnerOf()],
    requests: () => [requestOf({ count: 3 })],
  },
  {
    name: 'several requests',
    runners: () => [runnerOf(), runnerOf(), runnerOf()],
    requests: () => [requestOf(), requestOf({ usage_class: 'spot' }), requestOf({ count: 2 })],
  },
];

class World {
  readonly clock = new VirtualClock();
  readonly queue = new MemoryQueue({ clock: this.clock });
  readonly book = new ClaimBook();
  readonly #driver: QueueDriver;

  constructor(driver: QueueDriver) {
    this.#driver = driver;
  }

  /** A separate process, which dies with its queue. */
  start(queue: MessageQueue = this.queue, watched: WatchedQueue | null = null): PoolBackend {
    const { book, clock } = this;
    const claim: ClaimBook['claim'] = (request, runners) => book.claim(request, runners);
    const options = {
      store: { claim: watched === null ? claim : dying(watched, claim) },
      queue,
      classes: DEFAULT_RESOURCE_CLASSES,
      policy: { offer_delay_ms: 0 },
      clock,
      log: silentLogger,
    };
    return this.#driver === 'sqs-classic'
      ? new SqsClassicBackend(options)
      : new SqsShardedBackend({ ...options, types: book });
  }
}

function dying(watched: WatchedQueue, claim: ClaimBook['claim']): ClaimBook['claim'] {
  return (request, runners) => watched.step(`claim ${runners.length}`, () => claim(request, runners));
}

/** Plays a story until the crash; returns false if it ended before. */
async function play(driver: QueueDriver, story: Story, crashAt: CrashPoint): Promise<boolean> {
  const world = new World(driver);
  const runners = world.book.add(...story.runners());
  await world.start().offer([...runners, ...(story.gone?.() ?? [])]);
  const watched = new WatchedQueue(world.queue);
  watched.crashAt = crashAt;
  const dies = settled(world.start(watched, watched).serve(story.requests()), world.clock);
  await dies.catch((error: unknown) => assert.ok(watched.hasCrashed, String(error)));
  if (!watched.hasCrashed) return false;
  await outlive(world, runners);
  return true;
}

/** The messages of the dead process reappear: single requests, one after the other, find every runner. */
async function outlive(world: World, runners: readonly RunnerMessage[]): Promise<void> {
  const next = world.start();
  await world.clock.advance(31_000);
  for (const { usage_class } of runners) {
    if (world.book.idle.size === 0) break;
    // Unfitting runners are hidden for three seconds.
    await world.clock.advance(3_000);
    await settled(next.serve([requestOf({ usage_class })]), world.clock);
  }
  assert.equal(world.book.idle.size, 0, 'idle runners were not found');
}

for (const driver of QUEUE_DRIVERS) {
  describe(`a crash of ${driver}`, () => {
    for (const story of STORIES) {
      for (const when of ['before', 'after'] as const) {
        test(`${when} any call loses no runner: ${story.name}`, async () => {
          let call = 0;
          while (await play(driver, story, { call, when })) call += 1;
          assert.ok(call >= 3, `there were ${call} calls`);
        });
      }
    }

    test('leaves no message behind permanently', async () => {
      const world = new World(driver);
      const watched = new WatchedQueue(world.queue);
      const [runner] = world.book.add(runnerOf());
      await world.start().offer([runner!]);
      // It dies between the claim and the deletion of the message.
      watched.crashAt = { call: 2, when: 'before' };
      const [served] = await world.start(watched, watched).serve([requestOf()]);
      assert.notEqual(served?.grant, null);
      await world.clock.advance(31_000);
      await settled(world.start().serve([requestOf()]), world.clock);
      const queue = driver === 'sqs-classic' ? 'pool:large' : 'pool:large:on-demand:a.large';
      assert.deepEqual(await world.queue.depth(queue), { visible: 0, in_flight: 0, delayed: 0, dead: 0 });
    });
  });
}
