import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { VirtualClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/log.ts';
import { MaintenanceLoop, RetentionLoop } from '../../src/dispatch/maintenance-loop.ts';
import { until } from './targets.ts';

describe('the maintenance services', () => {
  it('sweeps once an interval, and again at once after a pass that found much', async () => {
    const clock = new VirtualClock();
    const found = [600, 500, 3, 0, 0];
    const passes: number[] = [];
    const engine = {
      sweep: () => {
        passes.push(clock.monotonic());
        return Promise.resolve({ promoted: found[passes.length - 1] ?? 0, requeued: 0, timed_out: 0, relayed: 0 });
      },
    };
    const loop = new MaintenanceLoop({ engine, intervalMs: 1000, clock, log: silentLogger });
    loop.start();
    await until('three passes without a wait', () => passes.length === 3);
    await clock.advance(999);
    assert.deepEqual(passes, [0, 0, 0]);
    await clock.advance(1001);
    assert.deepEqual(passes, [0, 0, 0, 1000, 2000]);
    await loop.stop();
  });

  it('a failed pass does not end the service', async () => {
    const clock = new VirtualClock();
    let passes = 0;
    const engine = {
      sweep: () => {
        passes += 1;
        if (passes === 1) return Promise.reject(new Error('database away'));
        return Promise.resolve({ promoted: 0, requeued: 0, timed_out: 0, relayed: 0 });
      },
    };
    const loop = new MaintenanceLoop({ engine, intervalMs: 1000, clock, log: silentLogger });
    loop.start();
    await clock.advance(2000);
    assert.ok(passes >= 2);
    await loop.stop();
  });

  it('retains in sets until a pass comes back short', async () => {
    const clock = new VirtualClock();
    const results = [
      { archived: 100, deleted: 0 },
      { archived: 20, deleted: 100 },
      { archived: 20, deleted: 0 },
    ];
    const seen: number[] = [];
    const engine = {
      retain: (limit: number) => {
        assert.equal(limit, 100);
        return Promise.resolve(results[seen.length] ?? { archived: 0, deleted: 0 });
      },
    };
    const loop = new RetentionLoop({
      engine,
      limit: 100,
      intervalMs: 60_000,
      clock,
      log: silentLogger,
      onPass: ({ archived }) => seen.push(archived),
    });
    loop.start();
    await until('three passes without a wait', () => seen.length === 3);
    await clock.advance(59_000);
    assert.deepEqual(seen, [100, 20, 20]);
    await loop.stop();
  });
});
