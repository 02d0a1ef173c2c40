import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';

import { VirtualClock } from '@heddle/base/clock';
import { CredentialCache } from '../../../src/http/access/credential-cache.ts';

const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** Counts lookups, and knows one credential. */
function cacheOf(clock: VirtualClock) {
  const sets: number[] = [];
  let running = 0;
  const cache = new CredentialCache({
    clock,
    lookUp: async (hashes: readonly Uint8Array[]) => {
      assert.equal((running += 1), 1, 'one statement at a time');
      sets.push(hashes.length);
      await Promise.resolve();
      running -= 1;
      return hashes.some((hash) => hashOf('known').equals(hash)) ? [{ hash: hashOf('known') }] : [];
    },
    hashOf: ({ hash }: { hash: Buffer }) => hash,
    isLive: () => true,
    touchIntervalMs: 1,
  });
  const find = (secret: string) => cache.find(secret, () => Promise.resolve());
  return { find, sets };
}

test('any number of unknown secrets share a few statements, and displace nothing that is known', async () => {
  const { find, sets } = cacheOf(new VirtualClock());
  assert.notEqual(await find('known'), null);
  const found = await Promise.all(Array.from({ length: 9_000 }, (_, n) => find(`unknown ${n}`)));
  assert.ok(found.every((each) => each === null));
  assert.ok(sets.length <= 11, `${sets.length} statements`);
  const before = sets.length;
  assert.notEqual(await find('known'), null);
  assert.equal(sets.length, before);
});

test('what is not looked up in time is refused, and not kept waiting', async () => {
  const { find } = cacheOf(new VirtualClock());
  const all = await Promise.allSettled(Array.from({ length: 12_000 }, (_, n) => find(`unknown ${n}`)));
  const refused = all.filter(
    (each) => each.status === 'rejected' && (each.reason as { code: string }).code === 'TOO_MANY_REQUESTS',
  );
  assert.equal(refused.length, all.filter(({ status }) => status === 'rejected').length);
  assert.ok(refused.length > 0);
});
