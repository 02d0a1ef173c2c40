import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { HeddleError } from '@heddle/base/errors';
import { grants, isTokenLive, type ApiToken, type TokenScope } from '@heddle/core/domain/token';
import type { Clock } from '@heddle/base/clock';
import type { Session } from '@heddle/core/domain/session';
import { CredentialCache } from './access/credential-cache.ts';
import type { Sessions } from './access/sessions.ts';
import { requireOwnOrigin } from './foreign-requests.ts';
import type { Handles } from './handles.ts';
import type { RequestState } from './request-state.ts';
import type { RunnerCredentials } from './runner-credentials.ts';
import type { SignedUrls } from './signed-urls.ts';
import type { HttpConfig, TokenReader } from './ports.ts';

const TOUCH_INTERVAL_MS = 60_000;

/** Finds tokens by their secret. */
export class TokenGate {
  readonly #tokens: TokenReader;
  readonly #clock: Clock;
  readonly #cache: CredentialCache<ApiToken>;

  constructor(tokens: TokenReader, clock: Clock) {
    this.#tokens = tokens;
    this.#clock = clock;
    this.#cache = new CredentialCache({
      clock,
      lookUp: (hashes) => tokens.findByHashes(hashes),
      hashOf: ({ token_hash }) => token_hash,
      isLive: (token) => isTokenLive(token, clock.now()),
      touchIntervalMs: TOUCH_INTERVAL_MS,
    });
  }

  /** Returns the live token with this secret; null if it is unknown, expired or revoked. */
  find(text: string): Promise<ApiToken | null> {
    return this.#cache.find(text, ({ id }) => this.#tokens.touch(id, this.#clock.now()));
  }

  /** Returns the live token that the request presents; null if there is none. */
  async presented({ headers: { authorization } }: Pick<FastifyRequest, 'headers'>): Promise<ApiToken | null> {
    const text = /^Bearer +([A-Za-z0-9._~+/=-]{1,512})$/i.exec(authorization ?? '')?.[1];
    return text === undefined ? null : this.find(text);
  }
}

interface Credentials {
  gate: TokenGate;
  sessions: Sessions;
  handles: Handles;
  signedUrls: SignedUrls;
  runners: RunnerCredentials;
}

/** Authorizes a request by its handle, else by its token, else by the session of its cookie. Runs before the body is read. */
export function guardRequests(
  app: FastifyInstance,
  { gate, sessions, handles, signedUrls, runners }: Credentials,
  { authRequired, hostUrl }: Pick<HttpConfig, 'authRequired' | 'hostUrl'>,
): void {
  const ownOrigin = URL.parse(hostUrl)?.origin ?? null;
  const needsNothing = (request: FastifyRequest): boolean => {
    const { scope, handle, signed, url } = request.heddle.route;
    if (url === undefined) return true;
    if (signed === true || (handle === true && handles.isPresented(request)) || runners.isPresented(request))
      return false;
    return !authRequired || scope === null || scope === undefined;
  };
  const authorize = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { scope, handle, signed, runner } = request.heddle.route;
    if (handle === true && (await handles.admit(request))) return;
    if (signed === true && (await signedUrls.admit(request))) return;
    if (await admitRunner(request, runners, runner === true)) return;
    if (!authRequired || scope === null || scope === undefined) return;
    const isOfBrowser = request.headers.authorization === undefined && sessions.isPresented(request);
    if (isOfBrowser) admitSession(request, reply, await sessions.find(request), ownOrigin);
    else admitToken(request.heddle, requireToken(request, reply, await gate.presented(request)));
    const find = (): Promise<unknown> => (isOfBrowser ? sessions.find(request) : gate.presented(request));
    request.heddle.isStillAdmitted = async () => (await find()) !== null;
    if (grants(request.heddle.scopes!, scope)) return;
    void reply.header('www-authenticate', `Bearer realm="heddle", error="insufficient_scope", scope="${scope}"`);
    const [what, where] = isOfBrowser ? ['user', 'session'] : ['token', 'authorization'];
    throw new HeddleError('FORBIDDEN', `The ${what} does not have the scope ${scope}`, {
      details: [
        `${where}: requires the scope ${scope}; the ${what} has ${request.heddle.scopes!.join(', ') || 'none'}`,
      ],
    });
  };
  // Most requests of a server without tokens need nothing: they do not wait for a promise.
  app.addHook('onRequest', (request, reply, done) => {
    if (needsNothing(request)) done();
    else authorize(request, reply).then(() => done(), done);
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

function requireToken(request: FastifyRequest, reply: FastifyReply, token: ApiToken | null): ApiToken {
  if (token !== null) return token;
  const given = request.headers.authorization !== undefined;
  throw unauthenticated(reply, {
    error: given ? 'invalid_token' : null,
    detail: given
      ? 'authorization: the token is unknown, expired or revoked; create one with `heddle token create`'
      : 'authorization: is required: `Bearer <token>`; create one with `heddle token create`',
  });
}

/** Records the token that authorized a request. */
export function admitToken(state: RequestState, { id, name, scopes, kinds, classes }: ApiToken): void {
  const owner = { token_id: id, issuer: null, subject: null };
  Object.assign(state, { tokenName: name, owner, scopes, kinds, classes });
}

function admitSession(
  request: FastifyRequest,
  reply: FastifyReply,
  session: Session | null,
  ownOrigin: string | null,
): void {
  requireOwnOrigin(request, ownOrigin);
  if (session === null) {
    throw unauthenticated(reply, { error: null, detail: 'session: has ended; log in again, or use a token' });
  }
  // Browsers also withhold the response from pages of other origins that embed it.
  void reply.header('cross-origin-resource-policy', 'same-origin');
  const { id, scopes, kinds, classes } = session;
  Object.assign(request.heddle, {
    tokenName: actorOf(session),
    owner: session,
    sessionId: id,
    scopes,
    kinds,
    classes,
  });
}

/** Returns the name of a user in the audit log: that of the token, or `oidc:NAME`. */
export function actorOf({ token_id, name }: Pick<Session, 'token_id' | 'name'>): string {
  return token_id === null ? `oidc:${name}` : name;
}

function unauthenticated(
  reply: FastifyReply,
  { error, detail }: { error: string | null; detail: string },
): HeddleError {
  void reply.header('www-authenticate', `Bearer realm="heddle"${error === null ? '' : `, error="${error}"`}`);
  return new HeddleError('UNAUTHENTICATED', undefined, { details: [detail] });
}

/** Returns the documented security of a route, for servers that require tokens. */
export function securityOf(scope: TokenScope | null): Record<string, string[]>[] {
  return scope === null ? [] : [{ bearer: [scope] }, { session: [] }];
}
