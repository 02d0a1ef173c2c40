import { createHash, timingSafeEqual } from 'node:crypto';

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { HeddleError } from '@heddle/base/errors';
import { grants, isTokenLive, type ApiToken, type TokenScope } from '@heddle/core/domain/token';
import type { Clock } from '@heddle/base/clock';
import type { Handles } from './handles.ts';
import type { RunnerCredentials } from './runner-credentials.ts';
import type { SignedUrls } from './signed-urls.ts';
import type { TokenReader } from './ports.ts';

/** A revoked token stops working within this time. */
const TOKEN_CACHE_MS = 2000;
const TOKEN_CACHE_SIZE = 10_000;
const TOUCH_INTERVAL_MS = 60_000;

interface CachedToken {
  token: ApiToken | null;
  readAt: number;
  touchedAt: number;
}

/** Finds tokens by their hash, with a cache short enough for a revocation to take effect within seconds. */
export class TokenGate {
  readonly #tokens: TokenReader;
  readonly #clock: Clock;
  readonly #cache = new Map<string, CachedToken>();

  constructor(tokens: TokenReader, clock: Clock) {
    this.#tokens = tokens;
    this.#clock = clock;
  }

  /** Returns the live token with this secret; null if it is unknown, expired or revoked. */
  async find(text: string): Promise<ApiToken | null> {
    const hash = createHash('sha256').update(text).digest();
    const key = hash.toString('base64');
    const now = this.#clock.monotonic();
    let entry = this.#cache.get(key);
    if (entry === undefined || now - entry.readAt >= TOKEN_CACHE_MS) {
      const found = await this.#tokens.findByHash(hash);
      const token = found && timingSafeEqual(hash, Buffer.from(found.token_hash)) ? found : null;
      entry = { token, readAt: now, touchedAt: entry?.touchedAt ?? -Infinity };
      this.#remember(key, entry);
    }
    if (entry.token === null || !isTokenLive(entry.token, this.#clock.now())) return null;
    this.#touch(entry, entry.token, now);
    return entry.token;
  }

  #remember(key: string, entry: CachedToken): void {
    this.#cache.delete(key);
    this.#cache.set(key, entry);
    if (this.#cache.size > TOKEN_CACHE_SIZE) this.#cache.delete(this.#cache.keys().next().value!);
  }

  #touch(entry: CachedToken, token: ApiToken, now: number): void {
    if (now - entry.touchedAt < TOUCH_INTERVAL_MS) return;
    entry.touchedAt = now;
    // The last use of a token is informational; a request does not wait for it or fail because of it.
    this.#tokens.touch(token.id, this.#clock.now()).catch(() => undefined);
  }
}

/** Authorizes a request by its handle, else by its token. Runs before the body is read. */
export function guardRequests(
  app: FastifyInstance,
  gate: TokenGate,
  { handles, signedUrls, runners }: { handles: Handles; signedUrls: SignedUrls; runners: RunnerCredentials },
  options: { authRequired: boolean },
): void {
  app.addHook('onRequest', async (request, reply) => {
    const { scope, handle, signed, runner } = request.routeOptions.config;
    if (request.is404) return;
    if (handle === true && (await handles.admit(request))) return;
    if (signed === true && (await signedUrls.admit(request))) return;
    if (await admitRunner(request, runners, runner === true)) return;
    if (!options.authRequired || scope === null || scope === undefined) return;
    const token = await presentedToken(request, reply, gate);
    request.heddle.tokenName = token.name;
    request.heddle.scopes = token.scopes;
    request.heddle.kinds = token.kinds;
    request.heddle.classes = token.classes;
    if (grants(token.scopes, scope)) return;
    void reply.header('www-authenticate', `Bearer realm="heddle", error="insufficient_scope", scope="${scope}"`);
    throw new HeddleError('FORBIDDEN', `The token does not grant the scope ${scope}`, {
      details: [`authorization: requires the scope ${scope}; the token has ${token.scopes.join(', ') || 'none'}`],
    });
  });
}

/** Returns whether a runner sends the request. Also where no token is required: it says which runner it is. */
async function admitRunner(
  request: FastifyRequest,
  runners: RunnerCredentials,
  isForRunners: boolean,
): Promise<boolean> {
  const id = await runners.runnerOf(request);
  if (id === null) return false;
  if (!isForRunners) {
    throw new HeddleError('FORBIDDEN', 'The credential is that of a runner', {
      details: ['authorization: a runner may call /v1/pool/agent and report on its own task; use a token'],
    });
  }
  request.heddle.runner = id;
  request.heddle.tokenName = `runner ${id}`;
  request.heddle.scopes = [];
  return true;
}

async function presentedToken(request: FastifyRequest, reply: FastifyReply, gate: TokenGate): Promise<ApiToken> {
  const { authorization } = request.headers;
  const text = /^Bearer +([A-Za-z0-9._~+/=-]{1,512})$/i.exec(authorization ?? '')?.[1];
  const token = text === undefined ? null : await gate.find(text);
  if (token !== null) return token;
  const given = authorization !== undefined;
  void reply.header('www-authenticate', `Bearer realm="heddle"${given ? ', error="invalid_token"' : ''}`);
  throw new HeddleError('UNAUTHENTICATED', undefined, {
    details: [
      given
        ? 'authorization: the token is unknown, expired or revoked; create one with `heddle token create`'
        : 'authorization: is required: `Bearer <token>`; create one with `heddle token create`',
    ],
  });
}

/** Returns the documented security of a route, for servers that require tokens. */
export function securityOf(scope: TokenScope | null): Record<string, string[]>[] {
  return scope === null ? [] : [{ bearer: [scope] }];
}
