/** Tests the client against the real manager, over a network that loses, delays, repeats and alters messages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { RemoteExecutor } from '../../src/client/remote-executor.ts';
import { credentialsFor } from '../../src/security/client-credentials.ts';
import { VirtualClock } from '@heddle/base/clock';
import { seededRandom } from '@heddle/base/random';
import type { SignedRequest, SignedResponse } from '../../src/protocol/envelope.ts';
import { AUDIENCE, Fixture, KEY_ID, OpenTier } from '../support/manager/fixture.ts';
import { MemoryDisk } from '../support/manager/memory-disk.ts';
import { drive } from '../support/client/drive.ts';
import { draw, FAULTS, FaultyTransport, type Fault } from '../support/client/faulty-transport.ts';

const SECRET = Buffer.alloc(32, 7);
const NEVER = new AbortController().signal;

const scenarios = fc.record({
  seed: fc.integer(),
  managers: fc.integer({ min: 1, max: 2 }),
  submissions: fc.array(
    fc.record({
      at: fc.integer({ min: 0, max: 10_000 }),
      taskMs: fc.integer({ min: 0, max: 80_000 }),
      deadlineSecs: fc.option(fc.integer({ min: 1, max: 100 })),
      watched: fc.boolean(),
    }),
    { minLength: 1, maxLength: 10 },
  ),
  weights: fc.array(fc.integer({ min: 0, max: 4 }), { minLength: FAULTS.length, maxLength: FAULTS.length }),
});
type Scenario = typeof scenarios extends fc.Arbitrary<infer S> ? S : never;

test('no task runs twice on real managers, and every outcome is from exactly one run', async () => {
  const property = async (scenario: Scenario): Promise<void> => {
    await holds(scenario);
  };
  await fc.assert(fc.asyncProperty(scenarios, property), { numRuns: 40 });
});

test('with lost requests and responses, each submission gets its result', async () => {
  const lossy = FAULTS.map((fault) => (MERELY_LOSSY.has(fault) ? 3 : 0));
  const kinder = scenarios.map((scenario) => ({
    ...scenario,
    weights: lossy,
    submissions: scenario.submissions.map((each) => ({ ...each, deadlineSecs: null })),
  }));
  const allDone = async (scenario: Scenario): Promise<void> => {
    const results = await holds(scenario);
    assert.deepEqual(
      results.filter((result) => result !== 'done'),
      [],
    );
  };
  await fc.assert(fc.asyncProperty(kinder, allDone), { numRuns: 20 });
});

const MERELY_LOSSY: ReadonlySet<Fault> = new Set<Fault>([
  'lost_on_the_way_there',
  'lost_on_the_way_back',
  'delivered_late',
  'delivered_twice',
]);

async function holds({ seed, managers, submissions, weights }: Scenario): Promise<unknown[]> {
  const clock = new VirtualClock();
  const random = seededRandom(seed);
  const fixtures = await Promise.all(Array.from({ length: managers }, () => openManager(clock)));
  const handle = async (fixture: Fixture, request: SignedRequest): Promise<SignedResponse> => {
    const received = {
      ingress: 'tcp',
      peer: null,
      token: null,
      traceparent: null,
      remoteAddress: '127.0.0.1',
    } as const;
    return (await fixture.manager.handle({ ...received, request, signal: NEVER })).response;
  };
  const remote = new RemoteExecutor({
    endpoints: fixtures.map((_, index) => `tcp+plain://127.0.0.1:${index + 1}`),
    credentials: credentialsFor('alice', AUDIENCE, [{ id: KEY_ID, secret: SECRET }]),
    clock,
    random,
    openTransport: (endpoint) =>
      new FaultyTransport({
        handle: (request) => handle(fixtures[endpoint.port - 1]!, request),
        endpoint,
        clock,
        next: () => draw(weights, random.next()),
        lateMs: () => random.next() * 30_000,
      }),
  });
  const calls = submissions.map(async ({ at, taskMs, deadlineSecs, watched }, index) => {
    await clock.sleep(at);
    const options = {
      ...(deadlineSecs === null ? {} : { deadlineSecs }),
      ...(watched ? { onProgress: () => undefined } : {}),
    };
    return remote.submit('Echo', { ms: taskMs, index }, options).catch((error: unknown) => ({ error }));
  });
  const results = await drive(clock, Promise.all(calls));
  await clock.advance(60_000);
  await drive(clock, remote.close());
  const runs = fixtures.flatMap(({ tier }) => tier.runs.map(({ args }) => (args as { index: number }).index));
  for (const [index, result] of results.entries()) {
    const count = runs.filter((each) => each === index).length;
    assert.ok(count <= 1, `submission ${index} ran ${count} times`);
    if (result === 'done') assert.equal(count, 1);
    else assert.ok(typeof result === 'object' && 'error' in (result as object), 'neither a result nor a failure');
  }
  await drive(clock, Promise.all(fixtures.map((fixture) => fixture[Symbol.asyncDispose]())));
  return results;
}

async function openManager(clock: VirtualClock): Promise<Fixture> {
  const tier = new OpenTier();
  tier.answer = async ({ args }) => {
    const { ms } = JSON.parse(Buffer.from(args).toString()) as { ms: number };
    await clock.sleep(ms);
    return { status: 'success', result: Buffer.from('"done"') };
  };
  return Fixture.open({ clock, tier, files: new MemoryDisk() });
}
