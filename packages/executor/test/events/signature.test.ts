import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { test } from 'node:test';

import { directory, eventModule, failureOf, NEVER, openRegistry, runEvent, write } from '../support/events/fixture.ts';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const signers = { release: rawKey(publicKey) };

function rawKey(key: KeyObject): string {
  return key.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64');
}

function signed(digest: string, key = privateKey): string {
  return sign(null, Buffer.from(`heddle-event-code-v1:${digest}`), key).toString('base64');
}

test('signed code runs; code with a foreign or wrong signature does not', async (t) => {
  const below = await directory(t);
  await write(below, { 'e/index.js': eventModule('E', '"signed"') });
  const entry = { name: 'E', type: 'local', path: 'e' };
  const plain = await openRegistry(t, below, { events: [entry] });
  const digest = plain.registry.peek('E')!.digest!;
  const list = (signature: string): object => ({
    signers,
    require_signatures: true,
    events: [{ ...entry, signed_by: 'release', signature }],
  });
  const { registry } = await openRegistry(t, below, { events: list(signed(digest)) });
  using resolved = await registry.resolve('E', NEVER);
  assert.equal(await runEvent(resolved), 'signed');

  const foreign = generateKeyPairSync('ed25519').privateKey;
  for (const wrong of [signed(digest, foreign), signed('0'.repeat(64)), Buffer.alloc(64).toString('base64')]) {
    assert.match(await failureOf(openRegistry(t, below, { events: list(wrong) })), /signature does not match its code/);
  }
  await write(below, { 'e/index.js': eventModule('E', '"changed"') });
  assert.match(
    await failureOf(openRegistry(t, below, { events: list(signed(digest)) })),
    /signature does not match its code/,
  );
});
