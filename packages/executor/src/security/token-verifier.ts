import { hash } from 'node:crypto';

import { createLocalJWKSet, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { RemoteFailure } from '../protocol/codes.ts';
import { FileWatch } from './file-watch.ts';
import { readTokenKeys } from './token-keys.ts';

/** Default signature algorithms of tokens; all use public keys. */
const TOKEN_ALGORITHMS = ['EdDSA', 'ES256', 'RS256'] as const;

const PUBLIC_KEY_ALGORITHM = /^(EdDSA|Ed25519|(ES|RS|PS)(256|384|512))$/;
const TOKEN_BYTES_MAX = 8_192;
const VERIFIED_MAX = 10_000;
const SCOPES_MAX = 1_000;
/** Tolerated clock difference to the issuer. */
const TOLERANCE_SECS = 5;

export interface TokenSettings {
  /** JWKS or PEM; reloaded when it changes. */
  keysFile: string;
  issuer: string;
  audience: string;
  algorithms?: readonly string[] | undefined;
}

/** Content of a verified token. */
export interface VerifiedToken {
  readonly subject: string;
  readonly scopes: readonly string[];
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Verifies bearer tokens and caches verified ones by hash until they expire. */
export class TokenVerifier {
  readonly #settings: TokenSettings;
  readonly #algorithms: string[];
  readonly #clock: Clock;
  readonly #verified = new Map<string, VerifiedToken>();
  readonly #pending = new Map<string, Promise<VerifiedToken>>();
  #keys!: JWTVerifyGetKey;
  #watch!: FileWatch;

  /** @throws KeyFileError if the keys are unusable; TypeError for shared-secret algorithms, or none */
  static async open(settings: TokenSettings & { clock: Clock; log: Logger }): Promise<TokenVerifier> {
    const verifier = new TokenVerifier(settings, settings.clock);
    const { keysFile: path, clock, log } = settings;
    const apply = (): Promise<void> => verifier.#readKeys();
    verifier.#watch = await FileWatch.open({ name: 'public keys of tokens', paths: [path], clock, log, apply });
    return verifier;
  }

  private constructor(settings: TokenSettings, clock: Clock) {
    const algorithms = settings.algorithms ?? TOKEN_ALGORITHMS;
    const wrong = algorithms.find((name) => !PUBLIC_KEY_ALGORITHM.test(name));
    if (wrong !== undefined || algorithms.length === 0) {
      throw new TypeError(`${JSON.stringify(wrong ?? '')} is not a supported token algorithm`);
    }
    this.#settings = settings;
    this.#algorithms = [...algorithms];
    this.#clock = clock;
  }

  /** Verifies a token; synchronous if cached. @throws RemoteFailure UNAUTHENTICATED */
  verify(token: string): VerifiedToken | Promise<VerifiedToken> {
    if (token.length > TOKEN_BYTES_MAX) throw refused('is too long');
    const digest = hash('sha256', token, 'base64url');
    const known = this.#verified.get(digest);
    if (known !== undefined) {
      if (this.#clock.now() < known.expiresAt) return known;
      this.#verified.delete(digest);
    }
    return this.#pending.get(digest) ?? this.#verifyShared(token, digest);
  }

  reload(): Promise<void> {
    return this.#watch.check();
  }

  close(): Promise<void> {
    return this.#watch.close();
  }

  #verifyShared(token: string, digest: string): Promise<VerifiedToken> {
    const keys = this.#keys;
    const verifying = this.#verifyNow(token, keys)
      .then((verified) => {
        // Results from keys that were replaced meanwhile must not be cached.
        if (keys === this.#keys) this.#remember(digest, verified);
        return verified;
      })
      .finally(() => this.#pending.delete(digest));
    this.#pending.set(digest, verifying);
    return verifying;
  }

  #remember(digest: string, verified: VerifiedToken): void {
    if (this.#verified.size >= VERIFIED_MAX) this.#verified.delete(this.#verified.keys().next().value!);
    this.#verified.set(digest, verified);
  }

  async #verifyNow(token: string, keys: JWTVerifyGetKey): Promise<VerifiedToken> {
    try {
      return await this.#verifyWith(token, keys);
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw refusal(error);
      // Without key ids every key is tried.
      for await (const key of error) {
        try {
          return await this.#verifyWith(token, () => key);
        } catch (failure) {
          if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw refusal(failure);
        }
      }
      throw refused('was not signed with a known key');
    }
  }

  async #verifyWith(token: string, keys: JWTVerifyGetKey): Promise<VerifiedToken> {
    const { issuer, audience } = this.#settings;
    const { payload } = await jwtVerify(token, keys, {
      ...{ issuer, audience, algorithms: this.#algorithms },
      requiredClaims: ['sub', 'exp'],
      currentDate: new Date(this.#clock.now()),
      clockTolerance: TOLERANCE_SECS,
    });
    return { subject: payload.sub!, scopes: scopesOf(payload), expiresAt: payload.exp! * 1000 };
  }

  async #readKeys(): Promise<void> {
    const jwks = await readTokenKeys(this.#settings.keysFile);
    const find = createLocalJWKSet(jwks);
    // PEM keys have no ids, so the token's key id is ignored.
    const named = jwks.keys.some(({ kid }) => kid !== undefined);
    this.#keys = named ? find : ({ kid: _, ...header }, token) => find(header, token);
    this.#verified.clear();
  }
}

/** Reads `scope`, separated by spaces, or a list `scopes`. */
function scopesOf({ scope, scopes }: JWTPayload): readonly string[] {
  const given = scope ?? scopes ?? [];
  const list: unknown = typeof given === 'string' ? given.split(' ').filter((word) => word !== '') : given;
  if (!Array.isArray(list) || list.length > SCOPES_MAX || !list.every((word) => typeof word === 'string')) {
    throw refused('has invalid scopes');
  }
  return list;
}

function refusal(error: unknown): RemoteFailure {
  if (error instanceof RemoteFailure) return error;
  if (error instanceof errors.JWTExpired) return refused('has expired', error);
  if (error instanceof errors.JWTClaimValidationFailed) return refused(`has an invalid claim: ${error.claim}`, error);
  if (error instanceof errors.JOSEAlgNotAllowed)
    return refused('uses a signature algorithm that is not allowed', error);
  if (error instanceof errors.JWKSNoMatchingKey) return refused('was not signed with a known key', error);
  if (error instanceof errors.JWSSignatureVerificationFailed) return refused('has an invalid signature', error);
  return refused('is malformed', error);
}

function refused(fault: string, cause?: unknown): RemoteFailure {
  return new RemoteFailure('UNAUTHENTICATED', `The token ${fault}`, { cause });
}
