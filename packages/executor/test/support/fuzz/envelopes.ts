import assert from 'node:assert/strict';

import { HeddleError } from '@heddle/base/errors';
import { RemoteFailure } from '../../../src/protocol/codes.ts';
import { checkEnvelope } from '../../../src/protocol/envelope-shape.ts';
import type { SignedRequest, SignedResponse } from '../../../src/protocol/envelope.ts';
import {
  deriveClientKey,
  deriveSigningKeys,
  signRequest,
  signResponse,
  verifyRequest,
  verifyResponse,
} from '../../../src/protocol/mac.ts';
import { parseStrictJson } from '@heddle/base/json/parse';
import type { Random } from '@heddle/base/random';
import { below, mutate, pick, text } from './mutate.ts';

const KEYS = deriveSigningKeys(deriveClientKey(Buffer.alloc(32, 9), 'tester'));
const WORDS = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  '\\',
  '\\u0000',
  '\\ud800',
  '"__proto__":',
  '1e999',
  '9007199254740993',
  'null',
  '[[[[[[[[',
];
const TEXT_FIELDS = ['key_id', 'nonce', 'client', 'audience', 'method'] as const;

/** Fuzzes signed envelopes: a MAC matches only what was signed, in one direction; payloads are JSON or rejected. */
export function fuzzEnvelope(random: Random): Buffer {
  const payload = Buffer.from(JSON.stringify({ event_name: text(random), args: { a: [1, null, text(random)] } }));
  const request = signRequest(
    {
      key_id: 'k1',
      timestamp_ms: 1_700_000_000_000,
      nonce: 'n'.repeat(22),
      client: 'tester',
      audience: 'all',
      method: 'submit',
      payload,
    },
    KEYS,
  );
  assert.ok(verifyRequest(request, KEYS.request));
  const damaged = damage(request, random);
  if (!isSame(request, damaged)) assert.ok(!verifyRequest(damaged, KEYS.request));
  assert.ok(!verifyRequest(request, KEYS.response));
  shapeOf(damaged);
  fuzzAnswer(request, random);
  readPayload(damaged.payload);
  return Buffer.from(damaged.payload);
}

function damage(request: SignedRequest, random: Random): SignedRequest {
  switch (below(random, 4)) {
    case 0:
      return { ...request, [pick(random, TEXT_FIELDS)]: text(random) };
    case 1:
      return { ...request, timestamp_ms: pick(random, [0, -1, Number.NaN, 1.5, 2 ** 53, request.timestamp_ms + 1]) };
    case 2:
      return { ...request, mac: mutate(Buffer.from(request.mac), random, WORDS) };
    default:
      return { ...request, payload: mutate(Buffer.from(request.payload), random, WORDS) };
  }
}

/** Verifies that no bytes can move between fields, and that no response passes for a request. */
function fuzzAnswer(request: SignedRequest, random: Random): void {
  const answer = signResponse({ ...request, correlation_id: text(random), sequence: below(random, 3) }, KEYS);
  assert.ok(verifyResponse(answer, KEYS.response));
  assert.ok(!verifyRequest({ ...request, mac: answer.mac }, KEYS.request));
  const moved: SignedResponse = {
    ...answer,
    audience: answer.audience.slice(1),
    client: answer.client + answer.audience[0]!,
  };
  assert.ok(!verifyResponse(moved, KEYS.response));
  assert.ok(!verifyResponse({ ...answer, sequence: answer.sequence + 1 }, KEYS.response));
}

function isSame(left: SignedRequest, right: SignedRequest): boolean {
  return (
    TEXT_FIELDS.every((field) => left[field] === right[field]) &&
    left.timestamp_ms === right.timestamp_ms &&
    Buffer.compare(left.payload, right.payload) === 0 &&
    Buffer.compare(left.mac, right.mac) === 0
  );
}

function shapeOf(request: SignedRequest): void {
  try {
    checkEnvelope(request);
  } catch (error) {
    if (!(error instanceof RemoteFailure) || error.code !== 'MALFORMED') throw error;
  }
}

function readPayload(payload: Uint8Array): void {
  const bytes = Buffer.from(payload);
  try {
    assert.deepEqual(parseStrictJson(bytes, ''), JSON.parse(bytes.toString()));
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
  }
}
