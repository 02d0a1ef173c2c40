import type * as Client from 'openid-client';

import type { Clock } from '@heddle/base/clock';
import { HeddleError } from '@heddle/base/errors';
import type { Logger } from '@heddle/base/log';
import { messageOf } from '@heddle/base/thrown';

const REFRESH_MS = 3_600_000;
/** After a failure the provider is left alone for this time. */
const RETRY_MS = 5_000;
const TIMEOUT_SECS = 10;

export interface DiscoveryOptions {
  /** The package `openid-client`. */
  client: typeof Client;
  issuer: string;
  clientId: string;
  /** Returns the secret of the client; null if it is public. */
  clientSecret: () => Promise<string | null>;
  fetch: Client.CustomFetch;
  clock: Clock;
  log: Logger;
}

/**
 * What the provider says of itself, and its keys: read when a login first needs it, and again every hour. If it cannot
 * be read again, what is known serves on.
 */
export class Discovery {
  readonly #options: DiscoveryOptions;
  #known: { configuration: Client.Configuration; readAt: number } | null = null;
  #failed: { error: HeddleError; at: number } | null = null;
  #reading: Promise<void> | null = null;

  constructor(options: DiscoveryOptions) {
    this.#options = options;
  }

  /** @throws HeddleError IDENTITY_PROVIDER_UNAVAILABLE */
  async get(): Promise<Client.Configuration> {
    const now = this.#options.clock.monotonic();
    const isFresh = this.#known !== null && now - this.#known.readAt < REFRESH_MS;
    const isPaused = this.#failed !== null && now - this.#failed.at < RETRY_MS;
    if (!isFresh && !isPaused) {
      this.#reading ??= this.#read().finally(() => (this.#reading = null));
      await this.#reading;
    }
    if (this.#known === null) throw this.#failed!.error;
    return this.#known.configuration;
  }

  /** Makes the next login read it again. */
  forget(): void {
    if (this.#known !== null) this.#known.readAt = -Infinity;
  }

  async #read(): Promise<void> {
    const { clock, log, issuer } = this.#options;
    try {
      this.#known = { configuration: await this.#discover(), readAt: clock.monotonic() };
      this.#failed = null;
    } catch (error) {
      log.warn({ err: error, issuer }, 'the identity provider cannot be used');
      const details = [`oidc: ${issuer} cannot be used: ${reasonOf(error)}; the log of the server says more`];
      const unavailable = new HeddleError('IDENTITY_PROVIDER_UNAVAILABLE', undefined, { details, cause: error });
      this.#failed = { error: unavailable, at: clock.monotonic() };
    }
  }

  async #discover(): Promise<Client.Configuration> {
    const { client, issuer, clientId, clientSecret, fetch } = this.#options;
    const secret = await clientSecret();
    const authentication = secret === null ? client.None() : authenticationWith(client, secret);
    // "Deprecated" only to stand out: settings allow plain HTTP on loopback alone.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    const insecure = issuer.startsWith('http:') ? [client.allowInsecureRequests] : [];
    return client.discovery(new URL(issuer), clientId, undefined, authentication, {
      [client.customFetch]: fetch,
      timeout: TIMEOUT_SECS,
      // The signatures of ID tokens are checked although they come from the provider itself.
      execute: [client.enableNonRepudiationChecks, ...insecure],
    });
  }
}

/** Sends the secret as the provider prefers. */
function authenticationWith(client: typeof Client, secret: string): Client.ClientAuth {
  const [basic, post] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)];
  return (server, ...rest) => {
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = server;
    (methods.includes('client_secret_basic') ? basic : post)(server, ...rest);
  };
}

/** The library wraps the reason, and `fetch` does once more. Strangers read it: a code shows no addresses. */
function reasonOf(error: unknown): string {
  if (error instanceof HeddleError) return error.message;
  let reason = error;
  while (reason instanceof Error && reason.cause instanceof Error) reason = reason.cause;
  const { code } = reason as { code?: unknown };
  return typeof code === 'string' ? code : messageOf(reason);
}
