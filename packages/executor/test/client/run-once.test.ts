import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import type { Endpoint } from '../../src/client/port.ts';
import { RemoteExecutor } from '../../src/client/remote-executor.ts';
import { VirtualClock } from '@heddle/base/clock';
import { seededRandom } from '@heddle/base/random';
import { drive } from '../support/client/drive.ts';
import { draw, FAULTS, FaultyTransport } from '../support/client/faulty-transport.ts';
import { CREDENTIALS, MemoryExecutor } from '@heddle/test-support/executor/client/memory-executor';

interface Scenario {
  seed: number;
  executors: number;
  submissions: { at: number; taskMs: number; deadlineSecs: number | null }[];
  /** Relative likelihood of each fault other than `none`. */
  weights: number[];
  skewMs: number;
}

const scenarios: fc.Arbitrary<Scenario> = fc.record({
  seed: fc.integer(),
  executors: fc.integer({ min: 1, max: 3 }),
  submissions: fc.array(
    fc.record({
      at: fc.integer({ min: 0, max: 20_000 }),
      taskMs: fc.integer({ min: 0, max: 90_000 }),
      deadlineSecs: fc.option(fc.integer({ min: 1, max: 120 })),
    }),
    { minLength: 1, maxLength: 12 },
  ),
  weights: fc.array(fc.integer({ min: 0, max: 4 }), { minLength: FAULTS.length, maxLength: FAULTS.length }),
  skewMs: fc.integer({ min: -600_000, max: 600_000 }),
});

test('whatever messages are lost, no task runs twice, and every outcome is from exactly one run', async () => {
  await fc.assert(fc.asyncProperty(scenarios, holds), { numRuns: 150, endOnFailure: false });
});

async function holds(scenario: Scenario): Promise<void> {
  const clock = new VirtualClock();
  const random = seededRandom(scenario.seed);
  const run = async (_event: string, { ms }: { ms?: unknown }, signal: AbortSignal): Promise<string> => {
    await clock.sleep(Number(ms), signal);
    return 'done';
  };
  const executors = Array.from(
    { length: scenario.executors },
    (_, index) => new MemoryExecutor({ clock, run, skewMs: index === 0 ? scenario.skewMs : 0, maxPending: 6 }),
  );
  const remote = new RemoteExecutor({
    endpoints: executors.map((_, index) => `tcp+plain://127.0.0.1:${index + 1}`),
    credentials: CREDENTIALS,
    clock,
    random,
    openTransport: (endpoint: Endpoint) =>
      new FaultyTransport({
        handle: (request) => executors[endpoint.port - 1]!.handle(request),
        endpoint,
        clock,
        next: () => draw(scenario.weights, random.next()),
        lateMs: () => random.next() * 30_000,
      }),
  });
  const calls = scenario.submissions.map(async ({ at, taskMs, deadlineSecs }, index) => {
    await clock.sleep(at);
    const idempotencyKey = `key-${index}`;
    const limits = deadlineSecs === null ? {} : { deadlineSecs };
    const result = await remote
      .submit('Echo', { ms: taskMs }, { idempotencyKey, ...limits })
      .catch((error: unknown) => ({ error }));
    return { idempotencyKey, result };
  });
  const ended = await drive(clock, Promise.all(calls));
  // Delivers what the network still holds.
  await clock.advance(60_000);
  await drive(clock, remote.close());
  for (const { idempotencyKey, result } of ended) {
    const runs = executors.reduce((sum, executor) => sum + (executor.runs.get(idempotencyKey) ?? 0), 0);
    assert.ok(runs <= 1, `${idempotencyKey} ran ${runs} times`);
    if (result === 'done') assert.equal(runs, 1);
    else assert.ok(typeof result === 'object' && 'error' in (result as object), 'neither a result nor a failure');
  }
}
