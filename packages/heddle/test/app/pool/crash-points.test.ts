import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { eventually } from '@heddle/test-support/eventually';
import { Yard } from '../../support/app/pool/processes/yard.ts';
import type { YardPoint } from '../../support/app/pool/processes/yard-settings.ts';

/** The calls in the life of a runner, from plan to end; each has a point before and one after it. */
const SERVER_CALLS: readonly [YardPoint['port'], string][] = [
  ['store', 'ask'],
  ['store', 'shortages'],
  ['store', 'plan'],
  ['store', 'takeBatches'],
  ['provider', 'launch'],
  ['store', 'launched'],
  ['store', 'serveIdle'],
  ['store', 'withdraw'],
  ['store', 'sweep'],
  ['store', 'drain'],
  ['store', 'leaving'],
  ['provider', 'terminate'],
  ['provider', 'list'],
  ['store', 'reconcile'],
  ['store', 'gone'],
];
const RUNNER_CALLS = ['register', 'confirm', 'heartbeat', 'release'];

const POINTS: readonly YardPoint[] = [
  ...SERVER_CALLS.flatMap(([port, method]) =>
    (['before', 'after'] as const).map((when) => ({ process: 'server' as const, port, method, when })),
  ),
  ...RUNNER_CALLS.flatMap((method) =>
    (['before', 'after'] as const).map((when) => ({
      process: 'runner' as const,
      port: 'store' as const,
      method,
      when,
    })),
  ),
];

describe('a process killed at any point of provision and release', () => {
  let yard: Yard;
  before(async () => {
    yard = await Yard.open();
  });
  after(() => yard.close());

  it(`leaves no runner lost, held twice or started twice (${POINTS.length} points, each continuing from the previous one)`, async (t) => {
    for (const point of POINTS) {
      const startedAt = performance.now();
      // The runner that dies is launched again.
      if (point.process === 'runner') await yard.endAll();
      const child = yard.start({ point, plays: true });
      if (point.process === 'server')
        assert.equal(await child.ended, 'SIGKILL', `${JSON.stringify(point)}: ${child.errors()}`);
      else {
        // After a failed launch a server backs off; another server does not know about it.
        if (point.method === 'register') await eventually(() => yard.met(point), 'the runner has died', 60_000);
        else await child.told('done');
        await child.kill();
      }
      assert.ok(yard.met(point), `${JSON.stringify(point)} was not met`);
      await yard.checkHeld();
      const ms = Math.round(performance.now() - startedAt);
      t.diagnostic(`${point.process} ${point.when} ${point.port}.${point.method}: ${ms} ms`);
    }
    const { claims, runners } = await yard.finish();
    t.diagnostic(`${runners} runners, ${claims} claims`);
    assert.ok(runners >= POINTS.length / 4 && claims >= POINTS.length / 4, 'the points met the pool at work');
  });
});
