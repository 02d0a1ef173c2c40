import assert from 'node:assert/strict';
import { test } from 'node:test';

import { VirtualClock } from '@heddle/base/clock';
import { systemRandom } from '@heddle/base/random';
import { SecretStore } from '../../src/store/secrets.ts';
import { createTestDatabase } from '@heddle/test-support/postgres';

const hex = (keys: readonly Uint8Array[]): string[] => keys.map((key) => Buffer.from(key).toString('hex'));

test('processes that ask at once agree on one key; a rotated one goes on for its overlap', async () => {
  const { database } = await createTestDatabase();
  const clock = new VirtualClock();
  const open = (): SecretStore => new SecretStore({ database, clock, random: systemRandom });
  const first = await Promise.all(Array.from({ length: 8 }, () => open().keys('handle')));
  assert.equal(new Set(first.flatMap(hex)).size, 1);
  assert.equal(first[0]![0]!.length, 32);
  assert.notDeepEqual(hex(await open().keys('webhook')), hex(first[0]!));

  const other = open();
  await other.keys('handle');
  const store = open();
  await clock.advance(1);
  const fresh = await store.rotate('handle', 60_000);
  assert.deepEqual(hex(await store.keys('handle')), [...hex([fresh]), ...hex(first[0]!)]);
  await clock.advance(5000);
  assert.equal((await other.keys('handle')).length, 2, 'another process sees the rotation within seconds');
  await clock.advance(60_000);
  assert.deepEqual(hex(await store.keys('handle')), hex([fresh]));
  const configured = Buffer.alloc(24, 1);
  await store.rotate('webhook', 0, configured);
  assert.deepEqual(hex(await store.keys('webhook')), hex([configured]));
});
