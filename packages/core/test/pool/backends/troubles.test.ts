/** Under all kinds of faults in messages and processes, no runner is granted twice and none is lost. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import fc from 'fast-check';

import { DEFAULT_RESOURCE_CLASSES } from '@heddle/base/vocabulary/resource-class';
import type { RunnerMessage } from '../../../src/domain/runner/runner.ts';
import { SqsClassicBackend } from '../../../src/pool/backends/sqs-classic.ts';
import { SqsShardedBackend } from '../../../src/pool/backends/sqs-sharded.ts';
import type { PoolBackend } from '../../../src/pool/port/backend.ts';
import { MemoryQueue } from '@heddle/test-support/queue/memory-queue';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { seededRandom } from '@heddle/base/random';
import { ClaimBook, requestOf, runnerOf } from '@heddle/test-support/pool/backends/claim-book';
import { WatchedQueue } from '../../support/pool/backends/watched-queue.ts';
import { QUEUE_DRIVERS, settled, type QueueDriver } from '../../support/pool/backends/worlds.ts';

const TYPES = ['a.large', 'b.large', 'c.large'] as const;

/** One event, determined by its number. */
type Event =
  | { readonly kind: 'arrive'; readonly type: number; readonly memory: number; readonly copies: number }
  | { readonly kind: 'end'; readonly which: number }
  | { readonly kind: 'heartbeat or silence'; readonly which: number }
  | { readonly kind: 'serve'; readonly wishes: readonly Wish[]; readonly crash: number; readonly seed: number }
  | { readonly kind: 'pass'; readonly ms: number };

interface Wish {
  readonly type: number;
  readonly memory: number;
  readonly count: number;
}

const TYPE = fc.integer({ min: 0, max: TYPES.length - 1 });
const MEMORY = fc.constantFrom(4_096, 8_192);
const WISH = fc.record({
  type: fc.integer({ min: -1, max: TYPES.length - 1 }),
  memory: MEMORY,
  count: fc.constantFrom(1, 1, 1, 2, 3),
});

const EVENTS: fc.Arbitrary<Event> = fc.oneof(
  fc.record({
    kind: fc.constant('arrive' as const),
    type: TYPE,
    memory: MEMORY,
    copies: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({ kind: fc.constant('arrive' as const), type: TYPE, memory: MEMORY, copies: fc.constant(1) }),
  fc.record({ kind: fc.constant('end' as const), which: fc.nat() }),
  fc.record({ kind: fc.constant('heartbeat or silence' as const), which: fc.nat() }),
  fc.record({
    kind: fc.constant('serve' as const),
    wishes: fc.array(WISH, { minLength: 1, maxLength: 6 }),
    // Most processes survive.
    crash: fc.oneof(fc.constant(1_000), fc.integer({ min: 0, max: 12 })),
    seed: fc.nat(),
  }),
  fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(100, 3_000, 31_000) }),
);

/** Far more deliveries of one message than crashes in a story. */
const RECEIVES_MAX = 100;

/** Far more receives than messages: messages of ended runners may end a search early. */
const ROUNDS_MAX = 200;

class Theatre {
  readonly clock = new VirtualClock();
  readonly queue = new MemoryQueue({ clock: this.clock, maxReceives: RECEIVES_MAX });
  readonly book = new ClaimBook();
  readonly #driver: QueueDriver;

  constructor(driver: QueueDriver) {
    this.#driver = driver;
  }

  backend(watched: WatchedQueue): PoolBackend {
    const options = {
      store: {
        claim: (request: string, runners: readonly string[]) =>
          watched.step('claim', () => this.book.claim(request, runners)),
      },
      queue: watched,
      classes: DEFAULT_RESOURCE_CLASSES,
      policy: { offer_delay_ms: 0, looks_max: 200 },
      clock: this.clock,
      log: silentLogger,
    };
    return this.#driver === 'sqs-classic'
      ? new SqsClassicBackend(options)
      : new SqsShardedBackend({ ...options, types: this.book });
  }

  async happen(event: Event): Promise<void> {
    const idle = [...this.book.idle.keys()];
    switch (event.kind) {
      case 'arrive': {
        const runner = runnerOf({ instance_type: TYPES[event.type]!, memory_mib: event.memory });
        this.book.add(runner);
        const copies = Array.from({ length: event.copies }, () => runner);
        await this.backend(new WatchedQueue(this.queue)).offer(copies);
        return;
      }
      case 'end':
        if (idle.length > 0) this.book.idle.delete(idle[event.which % idle.length]!);
        return;
      case 'heartbeat or silence': {
        const id = idle[event.which % idle.length];
        if (id !== undefined && !this.book.silent.delete(id)) this.book.silent.add(id);
        return;
      }
      case 'serve': {
        await this.#serve(event);
        return;
      }
      case 'pass':
        await this.clock.advance(event.ms);
    }
  }

  async #serve({ wishes, crash, seed }: Extract<Event, { kind: 'serve' }>): Promise<void> {
    const watched = new WatchedQueue(this.queue);
    const random = seededRandom(seed);
    watched.falseEmpties = () => random.next() < 0.3;
    watched.crashAt = { call: crash, when: random.next() < 0.5 ? 'before' : 'after' };
    const requests = wishes.map(({ type, memory, count }) =>
      requestOf({ count, memory_mib: memory, allowed_instance_types: type < 0 ? [] : [TYPES[type]!] }),
    );
    const before = new Map(this.book.holders);
    try {
      const served = await settled(this.backend(watched).serve(requests), this.clock);
      for (const { request_id, grant } of served) {
        for (const { id } of grant?.runners ?? []) {
          assert.equal(before.get(id), undefined, 'it had a holder already');
          assert.equal(this.book.holders.get(id), request_id);
        }
      }
    } catch (error) {
      assert.ok(watched.hasCrashed, String(error));
    }
    for (const { id, count } of requests) {
      const held = [...this.book.holders.values()].filter((holder) => holder === id).length;
      assert.ok(held === 0 || held === count, `${held} of ${count}: all or none`);
    }
  }

  /** After all processes have ended and all runners sent heartbeats, single requests find every runner. */
  async end(): Promise<void> {
    const { book, clock } = this;
    const backend = this.backend(new WatchedQueue(this.queue));
    // The message of a silent runner is deleted, and the store offers the runner again.
    await backend.offer(dropped(book));
    book.silent.clear();
    await clock.advance(31_000);
    for (let round = 0; round < ROUNDS_MAX && book.idle.size > 0; round += 1) {
      await clock.advance(3_000);
      await settled(backend.serve([requestOf()]), clock);
    }
    assert.equal(book.idle.size, 0, 'idle runners were not found');
  }
}

function dropped({ idle, wasSilent }: ClaimBook): RunnerMessage[] {
  return [...wasSilent].flatMap((id) => idle.get(id) ?? []);
}

for (const driver of QUEUE_DRIVERS) {
  describe(`troubles of ${driver}`, () => {
    test('false empties, duplicates, silence, ends and crashes lose no runner and grant none twice', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(EVENTS, { minLength: 5, maxLength: 40 }), async (events) => {
          const theatre = new Theatre(driver);
          for (const event of events) await theatre.happen(event);
          await theatre.end();
        }),
        { numRuns: 200 },
      );
    });
  });
}
