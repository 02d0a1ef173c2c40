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
  const [found] = await tokens.findByHashes([hashToken(text), hashToken(`${text}x`)]);
  assert.deepEqual(found, token);
  assert.deepEqual(Buffer.from(found.token_hash), hashToken(text));
  assert.deepEqual(await tokens.findByHashes([hashToken(`${text}x`)]), []);

  await tokens.touch(token.id, clock.now() + 5);
  await tokens.touch(token.id, clock.now());
  assert.equal((await tokens.findByHashes([hashToken(text)]))[0]!.last_used_at, clock.now() + 5);

  assert.equal((await tokens.revoke(token.id))!.revoked_at, clock.now());
  assert.equal(await tokens.revoke(token.id), null);
  const [listed] = await tokens.list();
  assert.equal(listed!.revoked_at, clock.now());
});
