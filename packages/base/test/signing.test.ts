import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';

import fc from 'fast-check';

import {
  handleUrl,
  parseWebhookSecret,
  standardWebhookHeaders,
  verifyHandle,
  verifyStandardWebhook,
  webhookSecretText,
} from '../src/signing.ts';

const key = Buffer.alloc(32, 7);
const otherKey = Buffer.alloc(32, 8);
const taskId = '019a9f7e-0000-7000-8000-000000000001';

test('a handle is the address of the task with its attempt and an HMAC over both', () => {
  const mac = createHmac('sha256', key).update(`handle:v1:${taskId}:3`).digest('base64url');
  const expected = `https://host/base/task/${taskId}?attempt=3&signature=${mac}`;
  assert.equal(handleUrl('https://host/base', taskId, 3, key), expected);
  assert.equal(handleUrl('https://host/base/', taskId, 3, key), expected);
});

test('a handle verifies for its own task and attempt, with any active key, and not for anything else', () => {
  const signature = new URL(handleUrl('http://host', taskId, 3, key)).searchParams.get('signature')!;
  assert.ok(verifyHandle(taskId, 3, signature, [key]));
  assert.ok(verifyHandle(taskId, 3, signature, [otherKey, key]));
  assert.ok(!verifyHandle(taskId, 4, signature, [key]));
  assert.ok(!verifyHandle(taskId.replace(/1$/, '2'), 3, signature, [key]));
  assert.ok(!verifyHandle(taskId, 3, signature, [otherKey]));
  assert.ok(!verifyHandle(taskId, 3, signature, []));
});

test('no other text passes as a signature', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      assert.ok(!verifyHandle(taskId, 1, text, [key]));
    }),
  );
});

test('another spelling of the same bytes does not pass', () => {
  const signature = new URL(handleUrl('http://host', taskId, 3, key)).searchParams.get('signature')!;
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const next = alphabet[alphabet.indexOf(signature.at(-1)!) + 1]!;
  const spellings = [`${signature.slice(0, -1)}${next}`, `${signature}=`, `.${signature}`, `${signature}\n`];
  for (const other of spellings) {
    assert.deepEqual(Buffer.from(other, 'base64url'), Buffer.from(signature, 'base64url'));
    assert.ok(!verifyHandle(taskId, 3, other, [key]));
  }
  const headers = standardWebhookHeaders('id', 1_000, '{}', [key]);
  const unpadded = { ...headers, 'webhook-signature': headers['webhook-signature']!.replace('=', '') };
  assert.ok(!verifyStandardWebhook(unpadded, '{}', [key], 1_000));
});

test('the signature is the one of the Standard Webhooks specification', () => {
  // The test vector that the specification's own libraries share.
  const secret = parseWebhookSecret('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')!;
  const headers = standardWebhookHeaders('msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, '{"test": 2432232314}', [secret]);
  assert.deepEqual(headers, {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('every active key signs, so a receiver with the old or the new one accepts', () => {
  const headers = standardWebhookHeaders('id', 1_000, '{}', [key, otherKey]);
  assert.equal(headers['webhook-signature']?.split(' ').length, 2);
  for (const receiver of [key, otherKey]) assert.ok(verifyStandardWebhook(headers, '{}', [receiver], 1_000));
  assert.ok(!verifyStandardWebhook(headers, '{}', [Buffer.alloc(32, 9)], 1_000));
});

test('a receiver refuses another body, another id, an old time and missing headers', () => {
  const headers = standardWebhookHeaders('id', 1_000, '{}', [key]);
  assert.ok(verifyStandardWebhook(headers, '{}', [key], 1_300));
  assert.ok(!verifyStandardWebhook(headers, '{ }', [key], 1_000));
  assert.ok(!verifyStandardWebhook({ ...headers, 'webhook-id': 'di' }, '{}', [key], 1_000));
  assert.ok(!verifyStandardWebhook(headers, '{}', [key], 1_301));
  assert.ok(!verifyStandardWebhook({ ...headers, 'webhook-timestamp': 'now' }, '{}', [key], 1_000));
  assert.ok(!verifyStandardWebhook({}, '{}', [key], 1_000));
});

test('a webhook secret survives its text form, and what is not one is refused', () => {
  assert.deepEqual(parseWebhookSecret(webhookSecretText(key)), key);
  for (const text of ['', 'whsec_', 'whsec_!!!!', 'whsec_AAAA', key.toString('base64')]) {
    assert.equal(parseWebhookSecret(text), null);
  }
});
