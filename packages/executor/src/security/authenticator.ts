import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { Random } from '@heddle/base/random';
import { errorOf } from '@heddle/base/thrown';
import { RemoteFailure } from '../protocol/codes.ts';
import { checkEnvelope } from '../protocol/envelope-shape.ts';
import { verifyRequest } from '../protocol/mac.ts';
import type { Ingress } from '../protocol/messages.ts';
import { isCertificateOf } from './identity.ts';
import type { KeyRing } from './key-ring.ts';
import type { Authenticator, Caller, DirectionKeys, Received } from './port.ts';
import { openReplayGuard, type ReplayGuard } from './replay-guard.ts';
import type { ReplayLimits } from './replay-memory.ts';
import type { RevokedCertificates } from './revoked-certificates.ts';
import { TokenVerifier, type TokenSettings, type VerifiedToken } from './token-verifier.ts';

/** Maximum difference between a request's timestamp and the executor's clock, either way. */
export const MAX_AGE_MS = 60_000;

export interface AuthenticatorOptions {
  /** Opened and closed by the authenticator's owner. */
  keys: KeyRing;
  /** Accepted audiences of requests. */
  audiences: readonly string[];
  /** Directory of the replay memory across restarts; null keeps it in memory only. */
  replayDirectory: string | null;
  replayLimits?: ReplayLimits;
  /** Null if callers need no token. */
  tokens: TokenSettings | null;
  /** Listeners that require a client certificate. A presented certificate must match the client everywhere. */
  certificateIngresses?: readonly Ingress[];
  /** Default: no certificate is revoked. */
  revoked?: Pick<RevokedCertificates, 'has'>;
  maxAgeMs?: number;
  /** Boot id of the machine; default: the system's. */
  bootId?: string | null;
  clock: Clock;
  random: Random;
  log: Logger;
}

/** @throws KeyFileError if the token keys are unusable */
export async function openAuthenticator(options: AuthenticatorOptions): Promise<Authenticator> {
  const { tokens: settings, clock, log, random, bootId, maxAgeMs = MAX_AGE_MS } = options;
  const tokens = settings === null ? null : await TokenVerifier.open({ ...settings, clock, log });
  const { replayDirectory: directory, replayLimits: limits } = options;
  const replay = await openReplayGuard({ directory, limits, maxAgeMs, bootId, clock, random, log });
  return new RequestAuthenticator(options, maxAgeMs, replay, tokens);
}

class RequestAuthenticator implements Authenticator {
  readonly #keys: KeyRing;
  readonly #clock: Clock;
  readonly #maxAgeMs: number;
  readonly #audiences: ReadonlySet<string>;
  readonly #certificateIngresses: ReadonlySet<Ingress>;
  readonly #revoked: Pick<RevokedCertificates, 'has'> | null;
  readonly #replay: ReplayGuard;
  readonly #tokens: TokenVerifier | null;

  constructor(options: AuthenticatorOptions, maxAgeMs: number, replay: ReplayGuard, tokens: TokenVerifier | null) {
    this.#keys = options.keys;
    this.#clock = options.clock;
    this.#maxAgeMs = maxAgeMs;
    this.#audiences = new Set(options.audiences);
    this.#certificateIngresses = new Set(options.certificateIngresses ?? []);
    this.#revoked = options.revoked ?? null;
    this.#replay = replay;
    this.#tokens = tokens;
  }

  /** Not async: thousands of calls per second share a single write, their only wait. */
  authenticate(received: Received, mayCheck = true): Promise<Caller> {
    try {
      const { request } = received;
      checkEnvelope(request);
      const keys = this.#keys.find(request.key_id, request.client);
      if (keys === null && mayCheck) {
        const checked = this.#keys.checkNow();
        if (checked !== null) return checked.then(() => this.authenticate(received, false));
      }
      requireLive(keys, request.key_id);
      this.#requireAge(request.timestamp_ms);
      if (!verifyRequest(request, keys.request)) throw new RemoteFailure('INVALID_CHECKSUM');
      this.#keys.trust(request.key_id, request.client);
      const written = this.#replay.remember(request.client, request.nonce, request.timestamp_ms);
      if (!this.#audiences.has(request.audience)) {
        throw new RemoteFailure('FORBIDDEN', `The audience of the request is ${request.audience}, not this executor`);
      }
      return this.#identify(received, keys, written);
    } catch (error) {
      return Promise.reject(errorOf(error));
    }
  }

  async close(): Promise<void> {
    await this.#tokens?.close();
    await this.#replay.close();
  }

  #requireAge(timestampMs: number): void {
    const ageMs = this.#clock.now() - timestampMs;
    if (ageMs > this.#maxAgeMs) throw new RemoteFailure('EXPIRED', 'The request is too old');
    if (ageMs < -this.#maxAgeMs) throw new RemoteFailure('EXPIRED', 'The request is in the future');
  }

  /** Verifies that certificate, token and MAC name the same client. */
  #identify(received: Received, keys: DirectionKeys, written: Promise<void> | null): Promise<Caller> {
    const { client } = received.request;
    const { peer, token, ingress } = received;
    if (peer === null) {
      if (this.#certificateIngresses.has(ingress)) throw unidentified('A client certificate is required');
    } else if (!isCertificateOf(peer, client)) throw unidentified(`The certificate does not belong to ${client}`);
    else if (this.#revoked?.has(peer) === true) throw unidentified('The certificate was revoked');
    if (this.#tokens === null) return afterWrite(written, { client, scopes: null, keys });
    if (token === null) throw unidentified('A token is required');
    const verified = this.#tokens.verify(token);
    if (!(verified instanceof Promise)) return afterWrite(written, withToken(client, keys, verified));
    return verified.then((late) => afterWrite(written, withToken(client, keys, late)));
  }
}

function requireLive(keys: DirectionKeys | null, keyId: string): asserts keys is DirectionKeys {
  if (keys === null) throw unidentified(`The key ${keyId} is unknown`);
  if (keys.state === 'retired') throw unidentified(`The key ${keyId} is retired`);
}

function withToken(client: string, keys: DirectionKeys, { subject, scopes }: VerifiedToken): Caller {
  if (subject !== client) throw unidentified(`The token does not belong to ${client}`);
  return { client, scopes, keys };
}

function afterWrite(written: Promise<void> | null, caller: Caller): Promise<Caller> {
  return written === null ? Promise.resolve(caller) : written.then(() => caller);
}

function unidentified(message: string): RemoteFailure {
  return new RemoteFailure('UNAUTHENTICATED', message);
}
