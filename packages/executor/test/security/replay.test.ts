import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import fc from 'fast-check';

import { RemoteFailure } from '../../src/protocol/codes.ts';
import { openReplayGuard } from '../../src/security/replay-guard.ts';
import { ReplayMemory, type ReplayLimits } from '../../src/security/replay-memory.ts';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { seededRandom } from '@heddle/base/random';
import { eventually } from '@heddle/test-support/eventually';
import {
  inDirectory,
  newNonce,
  openFixture,
  outcome,
  received,
  signed,
  type Fixture,
} from '../support/security/fixture.ts';

const codeOf = async ({ authenticator }: Fixture, request: ReturnType<typeof signed>): Promise<string> =>
  (await outcome(authenticator.authenticate(received(request)))).code;

test('the same request is accepted once, however often and closely it is repeated', async () => {
  await inDirectory(async (directory) => {
    const fixture = await openFixture({ replayDirectory: directory });
    const request = signed(fixture.clock);
    const codes = await Promise.all(Array.from({ length: 50 }, () => codeOf(fixture, request)));
    assert.deepEqual(codes.sort(), ['REPLAYED', ...Array<string>(48).fill('REPLAYED'), 'ok'].sort());
    await fixture.clock.advance(59_999);
    assert.equal(await codeOf(fixture, request), 'REPLAYED');
    await fixture.clock.advance(2);
    assert.equal(await codeOf(fixture, request), 'EXPIRED');
    await fixture.authenticator.close();
  });
});

test('a nonce is not accepted again with another timestamp; another client may use the same one', async () => {
  const fixture = await openFixture();
  const nonce = newNonce();
  const at = (offset: number): number => fixture.clock.now() + offset;
  assert.equal(await codeOf(fixture, signed(fixture.clock, { nonce, timestamp_ms: at(-50_000) })), 'ok');
  assert.equal(await codeOf(fixture, signed(fixture.clock, { nonce, timestamp_ms: at(50_000) })), 'REPLAYED');
  assert.equal(await codeOf(fixture, signed(fixture.clock, { nonce, key_id: 'k0' })), 'REPLAYED');
  assert.equal(await codeOf(fixture, signed(fixture.clock, { nonce, client: 'bob' })), 'ok');
});

test('a replayed request from the future is rejected as long as it would be valid: up to two minutes', async () => {
  const fixture = await openFixture();
  const request = signed(fixture.clock, { timestamp_ms: fixture.clock.now() + 60_000 });
  assert.equal(await codeOf(fixture, request), 'ok');
  for (let passed = 0; passed < 120_000; passed += 7_500) {
    assert.equal(await codeOf(fixture, request), 'REPLAYED', `after ${passed} ms`);
    await fixture.clock.advance(7_500);
  }
  await fixture.clock.advance(1);
  assert.equal(await codeOf(fixture, request), 'EXPIRED');
});

test('setting the clock back does not enable replays: dropped requests stay rejected', () => {
  const memory = new ReplayMemory({ perClientMax: 10, totalMax: 1_000 }, 60_000, seededRandom(1));
  const nonce = newNonce();
  memory.remember('alice', nonce, 1_000_000, 1_000_000);
  memory.remember('alice', newNonce(), 1_200_000, 1_200_000);
  assert.throws(() => memory.remember('alice', nonce, 1_000_000, 1_000_000), failure('EXPIRED'));
  // A jump forwards and back costs only the time that was dropped by it.
  memory.remember('bob', newNonce(), 90_000_000, 90_000_000);
  memory.remember('alice', newNonce(), 1_210_000, 1_210_000);
  assert.throws(() => memory.remember('alice', nonce, 1_209_999, 1_210_000), failure('EXPIRED'));
});

test("a flood of nonces fills only its client's memory; others are served, and that client again after a while", async () => {
  const replayLimits = { perClientMax: 100, totalMax: 1_000 };
  const fixture = await openFixture({ replayLimits });
  const flood = async (client: string): Promise<number> => {
    for (let taken = 0; ; taken++) {
      const { code, message } = await outcome(
        fixture.authenticator.authenticate(received(signed(fixture.clock, { client }))),
      );
      if (code === 'ok') continue;
      assert.deepEqual([code, message], ['QUEUE_FULL', 'The replay memory of this caller is full']);
      return taken;
    }
  };
  // Alone it may use half of all; next to other floods it has its own share.
  assert.equal(await flood('mallory'), 500);
  assert.equal(await flood('trudy'), 100);
  for (let times = 0; times < 90; times++) {
    assert.equal(await codeOf(fixture, signed(fixture.clock, { client: 'alice' })), 'ok');
  }
  await fixture.clock.advance(70_000);
  assert.equal(await codeOf(fixture, signed(fixture.clock, { client: 'mallory' })), 'ok');
});

test('a rejection for a full memory says when there will be space', async () => {
  const fixture = await openFixture({ replayLimits: { perClientMax: 17, totalMax: 20 } });
  await fixture.clock.advance(5_000);
  for (let taken = 0; taken < 17; taken++) assert.equal(await codeOf(fixture, signed(fixture.clock)), 'ok');
  const failed = await fixture.authenticator
    .authenticate(received(signed(fixture.clock)))
    .catch((error: unknown) => error);
  assert.ok(failed instanceof RemoteFailure && failed.code === 'QUEUE_FULL');
  const waitMs = failed.retryAfterSecs! * 1000;
  assert.ok(waitMs > 0 && waitMs <= 70_000);
  await fixture.clock.advance(waitMs - 1_000);
  assert.equal(await codeOf(fixture, signed(fixture.clock)), 'QUEUE_FULL');
  await fixture.clock.advance(1_000);
  assert.equal(await codeOf(fixture, signed(fixture.clock)), 'ok');
});

/** Reference model: a list of everything ever received. */
function model(limits: ReplayLimits, maxAgeMs: number) {
  const taken: { client: string; nonce: string; timestamp: number }[] = [];
  return (client: string, nonce: string, timestamp: number): 'ok' | 'REPLAYED' => {
    const found = taken.some((each) => each.client === client && each.nonce === nonce);
    if (found) return 'REPLAYED';
    taken.push({ client, nonce, timestamp });
    assert.ok(taken.length < limits.totalMax && maxAgeMs > 0);
    return 'ok';
  };
}

test('any sequence of requests: accepted exactly if not accepted before', () => {
  const limits = { perClientMax: 10_000, totalMax: 100_000 };
  const nonces = Array.from({ length: 40 }, newNonce);
  const call = fc.record({
    client: fc.constantFrom('a', 'b'),
    nonce: fc.constantFrom(...nonces),
    skew: fc.integer({ min: -20_000, max: 20_000 }),
    passes: fc.integer({ min: 0, max: 400 }),
  });
  fc.assert(
    fc.property(fc.array(call, { maxLength: 120 }), (calls) => {
      const memory = new ReplayMemory(limits, 60_000, seededRandom(2));
      const expected = model(limits, 60_000);
      // Within this short time nothing is old enough to be dropped.
      let now = 1_700_000_000_000;
      for (const { client, nonce, skew, passes } of calls) {
        now += passes;
        let found: string = 'ok';
        try {
          memory.remember(client, nonce, now + skew, now);
        } catch (error) {
          found = (error as RemoteFailure).code;
        }
        assert.equal(found, expected(client, nonce, now + skew));
      }
    }),
    { numRuns: 300 },
  );
});

test('after a period without calls, no memory is held', () => {
  const memory = new ReplayMemory({ perClientMax: 1_000, totalMax: 20_000 }, 60_000, seededRandom(3));
  let now = 1_700_000_000_000;
  for (let round = 0; round < 300; round++) {
    for (let client = 0; client < 20; client++)
      memory.remember(`c${client}`, newNonce(), now - (round % 50) * 1_000, now);
    now += 1_000;
  }
  assert.ok(memory.total < 20_000 && memory.clients === 20);
  memory.remember('last', newNonce(), now + 200_000, now + 200_000);
  assert.deepEqual([memory.clients, memory.total], [1, 16]);
});

test('half a million nonces of one client are accepted and recognized', async () => {
  const memory = new ReplayMemory({ perClientMax: 600_000, totalMax: 1_200_000 }, 60_000, seededRandom(4));
  const now = 1_700_000_000_000;
  const nonces = Array.from({ length: 500_000 }, newNonce);
  const before = process.memoryUsage().arrayBuffers;
  nonces.forEach((nonce, index) => memory.remember('alice', nonce, now - (index % 50) * 1_000, now));
  // Twenty bytes per slot, and in the worst case slightly more than three of eight slots are used.
  await eventually(() => {
    collectGarbage();
    return (process.memoryUsage().arrayBuffers - before) / nonces.length < 55;
  }, 'less than 55 bytes per nonce');
  for (const nonce of nonces.slice(0, 50_000))
    assert.throws(() => memory.remember('alice', nonce, now, now), failure('REPLAYED'));
});

test('nonce files are rotated, and deleted when everything in them is old', async () => {
  await inDirectory(async (directory) => {
    const fixture = await openFixture({ replayDirectory: directory });
    const sizes: number[] = [];
    for (let round = 0; round < 40; round++) {
      assert.equal(await codeOf(fixture, signed(fixture.clock)), 'ok');
      await fixture.clock.advance(15_000);
      sizes.push(readdirSync(directory).length);
    }
    assert.ok(Math.max(...sizes) <= 8, `files: ${sizes.join(' ')}`);
    for (const name of readdirSync(directory)) assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600);
    await fixture.authenticator.close();
  });
});

test('a nonce that arrives just as a write ends is written as well', async () => {
  await inDirectory(async (directory) => {
    const clock = new VirtualClock();
    const around = { clock, random: seededRandom(5), log: silentLogger };
    const guard = await openReplayGuard({ directory, maxAgeMs: 60_000, ...around });
    for (let turns = 0; turns < 200; turns++) {
      await guard.remember('alice', newNonce(), clock.now());
      for (let turn = 0; turn < turns % 10; turn++) await Promise.resolve();
      await guard.remember('alice', newNonce(), clock.now());
    }
    await guard.close();
  });
});

test('while nonces cannot be written, calls are rejected, and accepted again afterwards', async () => {
  await inDirectory(async (parent) => {
    const directory = join(parent, 'memory');
    mkdirSync(directory);
    const fixture = await openFixture({ replayDirectory: directory, clock: new VirtualClock() });
    assert.equal(await codeOf(fixture, signed(fixture.clock)), 'ok');
    // The open file is closed after its time, and the next one cannot be created.
    await fixture.clock.advance(31_000);
    assert.equal(await codeOf(fixture, signed(fixture.clock)), 'ok');
    renameSync(directory, `${directory}-away`);
    const refused = signed(fixture.clock);
    assert.equal(await codeOf(fixture, refused), 'QUEUE_FULL');
    rmSync(directory, { force: true, recursive: true });
    renameSync(`${directory}-away`, directory);
    assert.equal(await codeOf(fixture, signed(fixture.clock)), 'ok');
    assert.equal(await codeOf(fixture, refused), 'REPLAYED', 'it is unknown whether it was written');
    await fixture.authenticator.close();
  });
});

/** Frees arrays that tables have outgrown. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

function failure(code: string): (error: unknown) => boolean {
  return (error) => error instanceof RemoteFailure && error.code === code;
}
