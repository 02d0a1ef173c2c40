import { after } from 'node:test';

import { MemoryQueue } from '@heddle/test-support/queue/memory-queue';
import { OutgoingRelay } from '../../src/queue/outgoing.ts';
import { systemClock, VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { conforms } from '../support/queue/conformance.ts';

const clock = new VirtualClock();
const { database } = await createTestDatabase();
const relays: OutgoingRelay[] = [];
after(() => Promise.all(relays.map((relay) => relay.stop())));

conforms({
  name: 'memory',
  grainMs: 100,
  dropsDuplicates: true,
  advance: (ms) => clock.advance(ms),
  open: async (options = {}) => {
    const queue = new MemoryQueue({ clock, ...options });
    await Promise.all(relays.splice(0).map((relay) => relay.stop()));
    const relay = new OutgoingRelay({ database, queue, clock: systemClock, log: silentLogger, random: systemRandom });
    relay.start();
    relays.push(relay);
    return { queue, database };
  },
});
