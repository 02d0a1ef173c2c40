import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import type { SignedRequest } from '../../src/protocol/envelope.ts';
import { deriveClientKey, macInput, signRequest, signResponse } from '../../src/protocol/mac.ts';
import type { Ingress } from '../../src/protocol/messages.ts';
import {
  openFixture,
  outcome,
  received,
  SECRETS,
  signed,
  signingKeys,
  type Fixture,
} from '../support/security/fixture.ts';

interface Attack {
  name: string;
  sign?: Partial<SignedRequest>;
  after?: Record<string, unknown>;
  mac?: string;
  secret?: string;
  age_ms?: number;
  peer?: string[];
  ingress?: Ingress;
  code: string;
  says?: string;
}

const FILE = join(import.meta.dirname, 'request-attacks.json');
const { attacks } = JSON.parse(readFileSync(FILE, 'utf8')) as { attacks: Attack[] };

/** Ways to tamper with a request's MAC. */
const MACS: Readonly<Record<string, (request: SignedRequest) => Uint8Array>> = {
  flip: ({ mac }) => mac.map((byte, at) => (at === 0 ? byte ^ 0x80 : byte)),
  'flip-last': ({ mac }) => mac.map((byte, at) => (at === 31 ? byte ^ 1 : byte)),
  truncate: ({ mac }) => mac.subarray(0, 16),
  extend: ({ mac }) => Buffer.concat([mac, Buffer.alloc(1)]),
  empty: () => new Uint8Array(0),
  zeros: () => new Uint8Array(32),
  'response-key': (request) => signRequest(request, { request: signingKeys(request.client).response }).mac,
  'of-answer': (request) =>
    signResponse({ ...request, correlation_id: '', sequence: 0 }, signingKeys(request.client)).mac,
  'client-key': (request) => signRequest(request, { request: deriveClientKey(SECRETS['k1']!, request.client) }).mac,
  master: (request) => signRequest(request, { request: SECRETS['k1']! }).mac,
  hash: (request) => createHash('sha256').update(macInput('request', request)).digest(),
};

let fixture: Fixture;

before(async () => {
  fixture = await openFixture({ certificateIngresses: ['grpc'] });
});

after(() => fixture.authenticator.close());

for (const attack of attacks) {
  test(`${attack.code}: ${attack.name}`, async () => {
    const { clock, authenticator } = fixture;
    const times = { timestamp_ms: clock.now() - (attack.age_ms ?? 0) };
    const secret = attack.secret === undefined ? undefined : SECRETS[attack.secret];
    const valid = signed(clock, { ...times, ...attack.sign }, secret);
    const bent = { ...valid, ...tampered(attack, clock.now()) };
    const request = attack.mac === undefined ? bent : { ...bent, mac: MACS[attack.mac]!(bent) };
    const peer = attack.peer === undefined ? null : { names: attack.peer, fingerprint: '', der: new Uint8Array(0) };
    const ingress = attack.ingress ?? 'tcp';
    const found = await outcome(authenticator.authenticate(received(request, { peer, ingress })));
    assert.equal(found.code, attack.code, found.message);
    assert.match(found.message, new RegExp(attack.says ?? ''));
    // No attack may lock out valid callers.
    assert.equal((await outcome(authenticator.authenticate(received(signed(clock))))).code, 'ok');
  });
}

function tampered({ after: changes = {} }: Attack, now: number): Partial<SignedRequest> {
  const { payload, timestamp_ms } = changes;
  return {
    ...changes,
    ...(typeof payload === 'string' ? { payload: Buffer.from(payload) } : {}),
    ...(timestamp_ms === 'now' ? { timestamp_ms: now } : {}),
  };
}

test('requests rejected before MAC verification take no replay memory', async () => {
  const { clock, authenticator } = await openFixture({ replayLimits: { perClientMax: 1, totalMax: 17 } });
  for (let times = 0; times < 100; times++) {
    const wrong = { ...signed(clock), mac: new Uint8Array(32) };
    assert.equal((await outcome(authenticator.authenticate(received(wrong)))).code, 'INVALID_CHECKSUM');
  }
  assert.equal((await outcome(authenticator.authenticate(received(signed(clock))))).code, 'ok');
});

test('a caller has the keys of its key id and name, and no scopes if tokens are not configured', async () => {
  const { clock, authenticator } = await openFixture();
  const caller = await authenticator.authenticate(received(signed(clock, { key_id: 'k0' })));
  const { request, response } = signingKeys('alice', SECRETS['k0']);
  assert.deepEqual(caller, { client: 'alice', scopes: null, keys: { state: 'accepted', request, response } });
});
