import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import fc from 'fast-check';

import type { SignedRequest, SignedResponse } from '../../src/protocol/envelope.ts';
import {
  deriveClientKey,
  deriveDirectionKey,
  deriveSigningKeys,
  isAnswerTo,
  macInput,
  signRequest,
  signResponse,
  verifyRequest,
  verifyResponse,
  type RequestFields,
  type ResponseFields,
} from '../../src/protocol/mac.ts';
import { REMOTE_METHODS } from '../../src/protocol/messages.ts';

interface Vector {
  name: string;
  direction: 'request' | 'response';
  secret: string;
  client_key: string;
  direction_key: string;
  fields: Omit<RequestFields, 'payload'> & { correlation_id?: string; sequence?: number };
  payload_hex: string;
  payload_repeats?: number;
  input_hex?: string;
  input_sha256: string;
  mac_hex: string;
  mac_base64url: string;
}

const FILE = join(import.meta.dirname, 'mac-vectors.json');
const { vectors } = JSON.parse(readFileSync(FILE, 'utf8')) as { vectors: Vector[] };

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

for (const vector of vectors) {
  test(`vector: ${vector.name}`, () => {
    const { fields, direction } = vector;
    const payload = Buffer.from(vector.payload_hex.repeat(vector.payload_repeats ?? 1), 'hex');
    const clientKey = deriveClientKey(Buffer.from(vector.secret, 'hex'), fields.client);
    assert.equal(hex(clientKey), vector.client_key);
    const key = deriveDirectionKey(clientKey, direction);
    assert.equal(hex(key), vector.direction_key);
    const full = { ...fields, payload } as ResponseFields;
    const input = direction === 'request' ? macInput('request', full) : macInput('response', full);
    assert.equal(createHash('sha256').update(input).digest('hex'), vector.input_sha256);
    if (vector.input_hex !== undefined) assert.equal(hex(input), vector.input_hex);
    const keys = { request: key, response: key };
    const { mac } = direction === 'request' ? signRequest(full, keys) : signResponse(full, keys);
    assert.equal(hex(mac), vector.mac_hex);
    assert.equal(Buffer.from(mac).toString('base64url'), vector.mac_base64url);
    const signed = { ...full, mac };
    assert.ok(direction === 'request' ? verifyRequest(signed, key) : verifyResponse(signed, key));
  });
}

test('another implementation computes the same MACs', (context) => {
  const ran = spawnSync('python3', [join(import.meta.dirname, 'mac_vectors.py')], { encoding: 'utf8' });
  if (ran.error !== undefined) {
    context.skip(`NOT RUN: python3 could not be started (${ran.error.message})`);
    return;
  }
  assert.deepEqual([ran.status, ran.stderr], [0, '']);
  assert.deepEqual(JSON.parse(ran.stdout), { checked: vectors.length, wrong: [] });
});

test('the vectors cover every method, both directions, and empty or non-ASCII payloads', () => {
  assert.ok(vectors.length >= 12);
  assert.deepEqual(new Set(vectors.map(({ fields }) => fields.method)), new Set(REMOTE_METHODS));
  assert.deepEqual(new Set(vectors.map(({ direction }) => direction)), new Set(['request', 'response']));
  assert.ok(vectors.some(({ payload_hex }) => payload_hex === ''));
  assert.ok(vectors.some(({ payload_hex }) => /[89a-f][0-9a-f]/.test(payload_hex)));
});

const KEYS = deriveSigningKeys(new Uint8Array(32).fill(7));

const name = fc.stringMatching(/^[A-Za-z0-9._:@/-]{1,128}$/);
const requests = fc
  .record({
    key_id: fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/),
    timestamp_ms: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
    nonce: fc.stringMatching(/^[A-Za-z0-9_-]{22}$/),
    client: name,
    audience: name,
    method: fc.constantFrom(...REMOTE_METHODS),
    payload: fc.uint8Array({ maxLength: 200 }),
  })
  .map((fields) => signRequest(fields, KEYS));

test('requests that differ in anything have different MAC inputs', () => {
  fc.assert(
    fc.property(requests, requests, (one, other) => {
      const fields = ({ mac: _, ...rest }: SignedRequest): unknown => ({ ...rest, payload: hex(rest.payload) });
      const same = JSON.stringify(fields(one)) === JSON.stringify(fields(other));
      assert.equal(hex(macInput('request', one)) === hex(macInput('request', other)), same);
    }),
  );
});

test('moving bytes between adjacent fields changes the request', () => {
  const base = requestOf({ client: 'ab', audience: 'cd' });
  const moved = { ...base, client: 'abc', audience: 'd' };
  assert.equal(verifyRequest(base, KEYS.request), true);
  assert.equal(verifyRequest(moved, KEYS.request), false);
});

test('every bit of a MAC counts, and so does its length', () => {
  fc.assert(
    fc.property(requests, fc.nat({ max: 255 }), fc.nat({ max: 64 }), (request, bit, length) => {
      const flipped = Uint8Array.from(request.mac);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      assert.equal(verifyRequest({ ...request, mac: flipped }, KEYS.request), false);
      const cut = Buffer.concat([request.mac, request.mac]).subarray(0, length);
      assert.equal(verifyRequest({ ...request, mac: cut }, KEYS.request), length === 32);
    }),
  );
});

test('a request never passes for a response, nor a response for a request, with any key', () => {
  const request = requestOf({});
  const response = signResponse({ ...request, correlation_id: '', sequence: 0 }, KEYS);
  for (const key of [KEYS.request, KEYS.response]) {
    assert.equal(verifyResponse({ ...request, correlation_id: '', sequence: 0 }, key), false);
    assert.equal(verifyRequest(response, key), false);
  }
  assert.equal(verifyResponse(response, KEYS.response), true);
});

test('a response matches only the request that it names', () => {
  const request = requestOf({});
  const fields = { ...request, timestamp_ms: 5, correlation_id: 'c', sequence: 0 };
  assert.equal(isAnswerTo(signResponse(fields, KEYS), request), true);
  const other: Partial<SignedResponse>[] = [
    { nonce: 'B'.repeat(22) },
    { key_id: 'k2' },
    { client: 'other' },
    { audience: 'other' },
    { method: 'poll' },
  ];
  for (const change of other) assert.equal(isAnswerTo({ ...signResponse(fields, KEYS), ...change }, request), false);
});

test('fields of any length are rejected, never truncated: verification does not throw, and nothing is signed', () => {
  const long = 'é'.repeat(5_000);
  assert.throws(() => requestOf({ client: long }), RangeError);
  assert.equal(verifyRequest({ ...requestOf({}), client: long }, KEYS.request), false);
  const response = { ...requestOf({}), correlation_id: long, sequence: 0 };
  assert.equal(verifyResponse(response, KEYS.response), false);
  assert.throws(() => deriveClientKey(new Uint8Array(31), 'web'), TypeError);
});

function requestOf(fields: Partial<RequestFields>): SignedRequest {
  const nonce = 'A'.repeat(22);
  const base = { key_id: 'k1', timestamp_ms: 1, nonce, client: 'web', audience: 'a', payload: new Uint8Array(3) };
  return signRequest({ ...base, method: 'submit', ...fields }, KEYS);
}
