import type * as Client from 'openid-client';

import type { Clock } from '@heddle/base/clock';
import { HeddleError } from '@heddle/base/errors';
import type { Logger } from '@heddle/base/log';
import { Permits } from '@heddle/base/permits';
import type { Random } from '@heddle/base/random';
import { messageOf } from '@heddle/base/thrown';
import type { Identity, IdentityProvider, LoginChecks } from '../../http/ports.ts';
import { Discovery, type DiscoveryOptions } from './discovery.ts';
import { claimOf, scopesOfClaims, type RoleMapping } from './role-mapping.ts';

const RANDOM_BYTES = 32;
const NAME_CHARS_MAX = 200;
/** Logins that ask the provider at the same time. */
const CONCURRENT_MAX = 32;

export interface OidcProviderOptions extends DiscoveryOptions {
  label: string;
  scopes: string;
  roles: RoleMapping;
  clock: Clock;
  random: Random;
  log: Logger;
}

/** An OpenID Connect provider: the authorization code flow with PKCE, state and nonce. */
export class OidcProvider implements IdentityProvider {
  readonly issuer: string;
  readonly label: string;
  readonly #options: OidcProviderOptions;
  readonly #discovery: Discovery;
  readonly #permits = new Permits(CONCURRENT_MAX);

  constructor(options: OidcProviderOptions) {
    this.issuer = options.issuer;
    this.label = options.label;
    this.#options = options;
    this.#discovery = new Discovery(options);
  }

  async begin(redirectUri: string): Promise<{ url: string; checks: LoginChecks }> {
    const { client, scopes } = this.#options;
    const configuration = await this.#discovery.get();
    const checks = { state: this.#secret(), nonce: this.#secret(), verifier: this.#secret() };
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: scopes,
      state: checks.state,
      nonce: checks.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(checks.verifier),
      code_challenge_method: 'S256',
    });
    return { url: url.href, checks };
  }

  async finish(callback: URL, { state, nonce, verifier }: LoginChecks): Promise<Identity> {
    const permit = this.#permits.tryAcquire();
    if (permit === null) throw new HeddleError('TOO_MANY_REQUESTS', 'Too many logins are under way');
    try {
      const configuration = await this.#discovery.get();
      const claims = await this.#claims(configuration, callback, { state, nonce, verifier });
      return {
        subject: String(claims['sub']),
        name: nameOf(claims),
        scopes: scopesOfClaims(this.#options.roles, claims),
      };
    } catch (error) {
      throw this.#failure(error);
    } finally {
      permit.release();
    }
  }

  /** Returns the claims of the ID token, with those that only the provider's endpoint for them has. */
  async #claims(
    configuration: Client.Configuration,
    callback: URL,
    { state, nonce, verifier }: LoginChecks,
  ): Promise<Record<string, unknown>> {
    const { client, roles } = this.#options;
    const tokens = await client.authorizationCodeGrant(configuration, callback, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims()!;
    const isComplete = claimOf(claims, roles.claim) !== undefined && nameOf(claims) !== claims.sub;
    if (isComplete || configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
    return { ...(await client.fetchUserInfo(configuration, tokens.access_token, claims.sub)), ...claims };
  }

  #secret(): string {
    return Buffer.from(this.#options.random.bytes(RANDOM_BYTES)).toString('base64url');
  }

  #failure(error: unknown): unknown {
    const { client, log } = this.#options;
    if (error instanceof HeddleError) return error;
    if (error instanceof client.AuthorizationResponseError) {
      const { error: code, error_description: description } = error;
      return rejected(`The provider refused the login: ${description ?? code}`, error);
    }
    log.warn({ err: error }, 'login at the identity provider failed');
    if (error instanceof client.ResponseBodyError) {
      // Perhaps the secret of the client was replaced.
      if (error.error === 'invalid_client') this.#discovery.forget();
      const isOld = error.error === 'invalid_grant';
      return isOld
        ? rejected('The login was used already, or has expired at the provider', error)
        : misconfigured(`the provider rejects this server: ${error.error_description ?? error.error}`, error);
    }
    const { code } = error as { code?: unknown };
    const isForged = code === 'OAUTH_JWT_CLAIM_COMPARISON_FAILED' || code === 'OAUTH_INVALID_RESPONSE';
    if (isForged) return rejected('The response of the provider does not belong to this login', error);
    return misconfigured(`the provider cannot be used: ${messageOf(error)}`, error);
  }
}

function rejected(message: string, cause: unknown): HeddleError {
  return new HeddleError('LOGIN_REJECTED', message, { cause });
}

function misconfigured(detail: string, cause: unknown): HeddleError {
  return new HeddleError('IDENTITY_PROVIDER_UNAVAILABLE', undefined, { details: [`oidc: ${detail}`], cause });
}

/** Returns the name by which people know the user. */
function nameOf(claims: Readonly<Record<string, unknown>>): string {
  const { email, email_verified, preferred_username, name, sub } = claims;
  const candidates = [email_verified === false ? null : email, preferred_username, name, sub];
  const found = candidates.find((each): each is string => typeof each === 'string' && each.trim() !== '') ?? '';
  return found
    .replaceAll(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, NAME_CHARS_MAX);
}
