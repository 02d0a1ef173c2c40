import assert from 'node:assert/strict';
import { test } from 'node:test';

import { FrameReader } from '../../src/tcp/frames.ts';
import { frameOf } from '@heddle/test-support/executor/tcp/raw-connection';
import { memoryInUse } from '../support/transports/healthy-client.ts';
import { submit } from '../support/transports/stand-in-manager.ts';
import { Fixture } from '../support/manager/fixture.ts';
import { MemoryDisk } from '../support/manager/memory-disk.ts';

test('copies of a request that wait for its outcome hold none of its bytes', async () => {
  await using fixture = await Fixture.open({ files: new MemoryDisk() });
  const copies = Array.from({ length: 5 }, () =>
    fixture.received('submit', { event_name: 'Echo', args: { filler: 'x'.repeat(100_000) }, idempotency_key: 'same' }),
  );
  const answers = copies.map((copy) => fixture.manager.handle(copy));
  await fixture.tier.begun(1);
  // Queued behind the others, so that all of them are waiting now.
  await fixture.call('status', {});
  assert.deepEqual(
    copies.map(({ request }) => request.payload.length),
    [0, 0, 0, 0, 0],
  );
  for (const run of fixture.tier.open) run.succeed('done');
  for (const [at, reply] of (await Promise.all(answers)).entries()) {
    assert.equal(fixture.read(copies[at]!, reply).result, 'done');
  }
  assert.equal(fixture.tier.runs.length, 1);
});

test('frame readers hold no frame that was taken from them', () => {
  const big = frameOf(submit('Echo', { filler: 'x'.repeat(1_000_000) }));
  const before = memoryInUse();
  const readers = Array.from({ length: 50 }, (_, index) => {
    const reader = new FrameReader(8 * 1024 * 1024);
    // Some of them already have the start of the next frame.
    reader.push(Buffer.concat([big, big.subarray(0, index % 2 === 0 ? 0 : 10)]));
    assert.notEqual(reader.next(), null);
    return reader;
  });
  assert.ok(memoryInUse() < before + 5_000_000);
  readers[1]!.push(big.subarray(10));
  assert.equal(readers[1]!.next()?.payload.length, submit('Echo', { filler: 'x'.repeat(1_000_000) }).payload.length);
});
