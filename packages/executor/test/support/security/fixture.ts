/** An authenticator on a virtual clock, clients of its key ring, and adjustable requests. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { RemoteFailure } from '../../../src/protocol/codes.ts';
import type { SignedRequest } from '../../../src/protocol/envelope.ts';
import { deriveClientKey, deriveSigningKeys, signRequest, type RequestFields } from '../../../src/protocol/mac.ts';
import { openAuthenticator, type AuthenticatorOptions } from '../../../src/security/authenticator.ts';
import { memoryKeyRing } from '../../../src/security/key-ring.ts';
import type { Authenticator, Caller, Received } from '../../../src/security/port.ts';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';

export const AUDIENCE = 'heddle-executor';
/** Master secrets by key id. */
export const SECRETS: Readonly<Record<string, Uint8Array>> = {
  k1: new Uint8Array(32).fill(1),
  k0: new Uint8Array(32).fill(2),
  old: new Uint8Array(32).fill(3),
  stranger: new Uint8Array(32).fill(9),
};

/** The ring of the tests: one key of each state; `stranger` is not in it. */
export const RING_KEYS = [
  { id: 'k1', secret: SECRETS['k1']!, state: 'active' as const },
  { id: 'k0', secret: SECRETS['k0']!, state: 'accepted' as const },
  { id: 'old', secret: SECRETS['old']!, state: 'retired' as const },
];

export interface Fixture {
  readonly clock: VirtualClock;
  readonly authenticator: Authenticator;
}

export async function openFixture(
  options: Partial<AuthenticatorOptions> & { clock?: VirtualClock } = {},
): Promise<Fixture> {
  const clock = options.clock ?? new VirtualClock();
  const authenticator = await openAuthenticator({
    keys: memoryKeyRing(RING_KEYS, clock),
    audiences: [AUDIENCE],
    replayDirectory: null,
    tokens: null,
    random: systemRandom,
    log: silentLogger,
    ...options,
    clock,
  });
  // Requests signed before the start are rejected; those of the tests may be a minute old.
  await clock.advance(options.maxAgeMs ?? 60_000);
  return { clock, authenticator };
}

export function newNonce(): string {
  return randomBytes(16).toString('base64url');
}

export function signingKeys(client: string, secret = SECRETS['k1']!): ReturnType<typeof deriveSigningKeys> {
  return deriveSigningKeys(deriveClientKey(secret, client));
}

function secretOf(keyId: string): Uint8Array | undefined {
  return Object.hasOwn(SECRETS, keyId) ? SECRETS[keyId] : SECRETS['k1'];
}

/** Builds a request of `alice`, signed after applying the changes. */
export function signed(clock: VirtualClock, fields: Partial<RequestFields> = {}, secret?: Uint8Array): SignedRequest {
  const full: RequestFields = {
    key_id: 'k1',
    timestamp_ms: clock.now(),
    nonce: newNonce(),
    client: 'alice',
    audience: AUDIENCE,
    method: 'submit',
    payload: Buffer.from('{"event_name":"Echo","args":{}}'),
    ...fields,
  };
  return signRequest(full, signingKeys(full.client, secret ?? secretOf(full.key_id)));
}

export function received(request: SignedRequest, around: Partial<Received> = {}): Received {
  return {
    ingress: 'tcp',
    request,
    peer: null,
    token: null,
    traceparent: null,
    remoteAddress: '127.0.0.1',
    signal: new AbortController().signal,
    ...around,
  };
}

/** Returns `ok`, or code and message of the rejection. */
export async function outcome(calling: Promise<Caller>): Promise<{ code: string; message: string }> {
  try {
    await calling;
    return { code: 'ok', message: '' };
  } catch (error) {
    if (!(error instanceof RemoteFailure)) throw error;
    return { code: error.code, message: error.message };
  }
}

export async function inDirectory<T>(run: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'heddle-security-'));
  try {
    return await run(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
