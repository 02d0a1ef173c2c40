import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { RemoteFailure } from '../../src/protocol/codes.ts';
import { checkEnvelope, type UncheckedEnvelope } from '../../src/protocol/envelope-shape.ts';
import { REMOTE_METHODS } from '../../src/protocol/messages.ts';

const FILE = join(import.meta.dirname, 'envelope-faults.json');
const { faults } = JSON.parse(readFileSync(FILE, 'utf8')) as {
  faults: { name: string; set: Record<string, unknown>; names: string }[];
};

const VALID: UncheckedEnvelope = {
  key_id: 'k1',
  timestamp_ms: 1_700_000_000_000,
  nonce: 'AAAAAAAAAAAAAAAAAAAAAA',
  client: 'alice',
  audience: 'heddle-executor',
  method: 'submit',
  payload: new Uint8Array(2),
  mac: new Uint8Array(32),
};

for (const { name, set, names } of faults) {
  test(`MALFORMED: ${name}`, () => {
    assert.throws(
      () => checkEnvelope({ ...VALID, ...set }),
      (error) =>
        error instanceof RemoteFailure &&
        error.code === 'MALFORMED' &&
        error.details.length === 1 &&
        error.details[0]!.startsWith(`${names}: `),
    );
  });
}

test('reports every fault of an envelope at once', () => {
  assert.throws(
    () => checkEnvelope({} as UncheckedEnvelope),
    (error) => error instanceof RemoteFailure && error.details.length === Object.keys(VALID).length,
  );
});

test('accepts valid envelopes: every method, the longest names, a MAC of any length, Buffers', () => {
  for (const method of REMOTE_METHODS) checkEnvelope({ ...VALID, method });
  checkEnvelope({ ...VALID, key_id: 'k'.repeat(64), client: 'c'.repeat(128), audience: 'Az09._:@/-' });
  checkEnvelope({ ...VALID, mac: new Uint8Array(0), payload: Buffer.alloc(0), timestamp_ms: 0 });
});
