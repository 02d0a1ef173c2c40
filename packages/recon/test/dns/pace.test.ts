/** Queries at a rate, to a server that answers at once: only the pace causes waits. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { listenForNames } from '../../../../examples/attack-surface/name-server.ts';
import { ZONE } from '../../../../examples/attack-surface/plan.ts';
import { makeZone } from '../../../../examples/attack-surface/zone.ts';
import { createPace } from '../../src/targets/pace.ts';
import { systemClock, type Clock } from '@heddle/base/clock';
import { numbered, scan } from '../support/dns/scanning.ts';

let server: Awaited<ReturnType<typeof listenForNames>>;

before(async () => {
  const zone = makeZone((host) => `127.0.10.${host}`);
  server = await listenForNames(zone, ZONE, '127.0.0.1', 0);
});

after(() => {
  server.close();
});

/** Its timers fire too early, as the system's may by a fraction of a millisecond. */
const hasty: Clock = { ...systemClock, after: (ms, run) => systemClock.after(ms / 3, run) };

test('a timer that fires too early leaves no query waiting forever', async () => {
  const pace = createPace({ clock: systemClock, rate: 200, hostRate: 200 });
  const resolvers = [`127.0.0.1:${server.address().port}`];
  const { records } = await scan({ names: numbered(40, ZONE), resolvers }, { clock: hasty, pace });
  assert.equal(records.length, 40);
  assert.ok(records.every(({ status_code }) => status_code === 'NXDOMAIN'));
});
