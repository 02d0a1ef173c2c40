import assert from 'node:assert/strict';
import { test } from 'node:test';

import { VirtualClock } from '@heddle/base/clock';
import { systemRandom } from '@heddle/base/random';
import { hashToken, TokenStore } from '../../src/store/tokens.ts';
import { createTestDatabase } from '@heddle/test-support/postgres';

test('a token is shown once and kept by its hash', async () => {
  const { database } = await createTestDatabase();
  const clock = new VirtualClock();
  const tokens = new TokenStore({ database, clock, random: systemRandom });
  const { text, token } = await tokens.create('ci', ['submit', 'read', 'read'], clock.now() + 1000);
  assert.match(text, /^hdl_[A-Za-z0-9_-]{43}$/);
  assert.deepEqual([token.name, token.scopes, token.expires_at], ['ci', ['submit', 'read'], clock.now() + 1000]);
  const found = await tokens.findByHash(hashToken(text));
  assert.deepEqual(found, token);
  assert.deepEqual(Buffer.from(found.token_hash), hashToken(text));
  assert.equal(await tokens.findByHash(hashToken(`${text}x`)), null);

  await tokens.touch(token.id, clock.now() + 5);
  await tokens.touch(token.id, clock.now());
  assert.equal((await tokens.findByHash(hashToken(text)))!.last_used_at, clock.now() + 5);

  assert.equal(await tokens.revoke(token.id), true);
  assert.equal(await tokens.revoke(token.id), false);
  const [listed] = await tokens.list();
  assert.equal(listed!.revoked_at, clock.now());
});
