import assert from 'node:assert/strict';
import { test } from 'node:test';

import { runAll, type Run } from '../../support/pool/simulator/runs.ts';
import { DRIVERS, type Driver } from '../../support/pool/simulator/site.ts';
import { killPointsOf } from '../../support/pool/simulator/world.ts';

/** A single run to be reproduced. */
const ONE = process.env['HEDDLE_POOL_SEED'];
const RUNS = process.env['HEDDLE_TEST_LONG'] === '1' ? 10_002 : 501;

function driverOf(seed: number): Driver {
  return DRIVERS[seed % DRIVERS.length]!;
}

function runsWith(driver: Driver): Run[] {
  const seeds = Array.from({ length: RUNS }, (_, seed) => seed);
  return seeds.flatMap((seed) => (driverOf(seed) === driver ? [{ seed, driver }] : []));
}

if (ONE !== undefined) {
  test(`run ${ONE}`, async (t) => {
    const outcomes = await runAll([{ seed: Number(ONE), driver: driverOf(Number(ONE)) }]);
    t.diagnostic(JSON.stringify(outcomes));
  });
} else {
  for (const driver of DRIVERS) {
    test(`${driver}: no runner is held twice or lost, no live runner is ended, and no instance is left over`, async (t) => {
      const outcomes = await runAll(runsWith(driver));
      const deaths = outcomes.flatMap((outcome) => outcome.deaths);
      const requests = outcomes.reduce((sum, outcome) => sum + outcome.requests, 0);
      const overtaken = Math.max(...outcomes.map((outcome) => outcome.overtaken));
      t.diagnostic(`${outcomes.length} runs, no request overtaken more than ${overtaken} times`);
      t.diagnostic(`${outcomes.length} runs, ${requests} requests, servers killed ${deaths.length} times`);
      const kept = outcomes.filter((outcome) => outcome.kept === true).length;
      const keeping = outcomes.filter((outcome) => outcome.kept !== null).length;
      assert.ok(kept >= keeping * 0.9, `as many were idle as are to be kept in ${kept} of ${keeping} runs`);
      const seen = new Set(deaths);
      const spared = killPointsOf(driver).filter((point) => !seen.has(point));
      assert.deepEqual(spared, [], 'around every call a server was killed in some run');
    });
  }

  test('the same run twice has the same events', async () => {
    const runs = [7, 8, 9].map((seed) => ({ seed, driver: driverOf(seed) }));
    assert.deepEqual(await runAll(runs), await runAll(runs));
  });
}
