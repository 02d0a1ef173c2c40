import type { FastifyReply, FastifyRequest } from 'fastify';

import { HeddleError } from '@heddle/base/errors';
import { messageOf } from '@heddle/base/thrown';
import { LoginAttempts, ownPath, type LoginAttempt } from '../access/login-attempts.ts';
import { sendFailure, sendOnward } from '../access/login-pages.ts';
import { actorOf } from '../auth.ts';
import type { Identity, IdentityProvider } from '../ports.ts';
import type { App, RouteContext } from './context.ts';

const BEGIN = '/login/oidc';
const CALLBACK = '/login/oidc/callback';
const DESCRIPTION_CHARS_MAX = 300;

/** Logins at the identity provider: pages that browsers visit, not part of the API. */
export function oidcRoutes(app: App, context: RouteContext): void {
  const { identityProvider: provider, secrets, clock, config, log, sessions } = context;
  if (provider === null) return;
  const attempts = new LoginAttempts(secrets, clock);
  const callback = `${config.hostUrl.replace(/\/+$/, '')}${CALLBACK}`;
  const errorHandler = (error: Error, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const isKnown = error instanceof HeddleError && error.code !== 'INTERNAL';
    if (!isKnown) log.error({ err: error, route: request.url.split('?', 1)[0] }, 'login failed');
    return showFailure(reply, isKnown ? error : new HeddleError('INTERNAL'));
  };
  const page = { method: 'GET', schema: { hide: true }, exposeHeadRoute: false, errorHandler } as const;
  app.route({
    ...page,
    url: BEGIN,
    config: { scope: null },
    handler: async (request, reply) => {
      const return_to = ownPath(parameter(request, 'return_to'));
      if (!config.authRequired) return reply.redirect(return_to);
      const { url, checks } = await provider.begin(callback);
      await attempts.store({ ...checks, return_to }, reply, sessions.isSecure(request));
      return reply.header('cache-control', 'no-store').redirect(url);
    },
  });
  app.route({
    ...page,
    url: CALLBACK,
    config: { scope: null, audited: true },
    handler: async (request, reply) => {
      context.failedLogins.begin(request.ip);
      const attempt = await attempts.take(request, reply, sessions.isSecure(request));
      if (attempt === null) throw noAttempt(config.hostUrl);
      const identity = await finish(provider, request, callback, attempt);
      return logIn(context, identity, attempt, request, reply);
    },
  });
}

function parameter({ query }: FastifyRequest, name: string): string | undefined {
  const value = (query as Record<string, unknown>)[name];
  return typeof value === 'string' ? value : undefined;
}

async function finish(
  provider: IdentityProvider,
  request: FastifyRequest,
  callback: string,
  attempt: LoginAttempt,
): Promise<Identity> {
  if (parameter(request, 'state') !== attempt.state) {
    throw new HeddleError('LOGIN_REJECTED', 'The response of the provider does not belong to this login');
  }
  const url = new URL(callback);
  url.search = URL.parse(request.url, callback)?.search ?? '';
  return provider.finish(url, attempt);
}

async function logIn(
  { identityProvider, sessions, failedLogins, log }: RouteContext,
  { subject, name, scopes }: Identity,
  attempt: LoginAttempt,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  failedLogins.succeeded(request.ip);
  if (scopes === null) {
    log.warn({ subject, name, address: request.ip }, 'login refused: the user has no role');
    throw new HeddleError('FORBIDDEN', 'You have no role here', {
      details: [`${name} may log in at the provider, but has no role in Heddle. Ask its administrators for one.`],
    });
  }
  const owner = { issuer: identityProvider!.issuer, subject, name, scopes };
  const session = (await sessions.open(owner, request, reply))!;
  request.heddle.tokenName = actorOf(session);
  request.heddle.created = `${session.id} ${subject}`;
  return sendOnward(reply, attempt.return_to);
}

function noAttempt(hostUrl: string): HeddleError {
  return new HeddleError('LOGIN_REJECTED', 'This login is not under way', {
    details: [
      'It took more than ten minutes, was finished already, or began in another browser or under another address.',
      `The address of the console is ${hostUrl}`,
    ],
  });
}

function showFailure(reply: FastifyReply, error: HeddleError): FastifyReply {
  const { status, details, retryable, retryAfterSecs = retryable ? 1 : undefined } = error;
  if (retryAfterSecs !== undefined) void reply.header('retry-after', String(Math.max(1, Math.ceil(retryAfterSecs))));
  return sendFailure(reply, {
    status,
    title: messageOf(error).slice(0, DESCRIPTION_CHARS_MAX),
    lines: details.map((line) => line.slice(0, DESCRIPTION_CHARS_MAX)),
    again: status === 403 ? null : BEGIN,
  });
}
