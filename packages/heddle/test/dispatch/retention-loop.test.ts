import assert from 'node:assert/strict';
import { it } from 'node:test';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { retentionLoop } from '../../src/dispatch/retention-loop.ts';
import { eventually } from '@heddle/test-support/eventually';

it('moves and deletes in sets until a pass is short', async () => {
  const clock = new VirtualClock();
  const results = [
    { archived: 100, deleted: 0 },
    { archived: 20, deleted: 100 },
    { archived: 20, deleted: 0 },
  ];
  let passes = 0;
  const engine = {
    retain: (limit: number) => {
      assert.equal(limit, 100);
      passes += 1;
      return Promise.resolve(results[passes - 1] ?? { archived: 0, deleted: 0 });
    },
  };
  const loop = retentionLoop({ engine, limit: 100, intervalMs: 60_000, clock, log: silentLogger });
  loop.start();
  await eventually(() => passes === 3, 'three passes without a wait');
  await clock.advance(59_000);
  assert.equal(passes, 3);
  await clock.advance(1_000);
  assert.equal(passes, 4);
  await loop.stop();
});
