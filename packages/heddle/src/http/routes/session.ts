import type { FastifyRequest } from 'fastify';

import { HeddleError } from '@heddle/base/errors';
import { grants } from '@heddle/core/domain/token';
import { actorOf } from '../auth.ts';
import { LoginStateDto, NewSessionDto, userToWire, type UserDto } from '../wire/session.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { NoQuery } from './parameters.ts';

const TAG = 'Access';
const PATH = '/v1/session';
/** A token has far fewer bytes; strangers send these bodies. */
const BODY = { bytes: 2_048, values: 8, names: 8 };

/** The session of the browser that asks. */
export function sessionRoutes(app: App, context: RouteContext): void {
  readRoute(app, context);
  openRoute(app, context);
  endRoute(app, context);
}

/** Answers whether the caller is logged in, and how it can be. */
function stateOf({ config, identityProvider }: RouteContext, user: UserDto | null): LoginStateDto {
  const { authRequired } = config;
  const oidc = authRequired && identityProvider !== null ? identityProvider : null;
  return {
    authentication: authRequired ? 'required' : 'none',
    user,
    logins: { token: authRequired, oidc: oidc && { label: oidc.label, path: '/login/oidc' } },
  };
}

async function userOf({ gate, sessions, config }: RouteContext, request: FastifyRequest): Promise<UserDto | null> {
  if (!config.authRequired) return null;
  if (request.headers.authorization !== undefined) {
    const token = await gate.presented(request);
    return token && userToWire(token, null);
  }
  const session = await sessions.find(request);
  return session && userToWire(session, session.id);
}

function readRoute(app: App, context: RouteContext): void {
  app.route({
    method: 'GET',
    url: PATH,
    config: { scope: null },
    schema: {
      ...documented({
        summary: 'Get the session of this browser',
        description: 'Who is logged in, with which role and scopes, and how one can log in.',
        tag: TAG,
        scope: null,
        answers: { 200: { description: 'The user; null if no one is logged in.', schema: LoginStateDto } },
      }),
      querystring: NoQuery,
    },
    handler: async (request, reply) => {
      void reply.header('cache-control', 'no-store');
      return stateOf(context, await userOf(context, request));
    },
  });
}

function openRoute(app: App, context: RouteContext): void {
  const { gate, sessions, failedLogins, config, log } = context;
  app.route({
    method: 'POST',
    url: PATH,
    config: { scope: null, audited: true, body: BODY },
    schema: {
      ...documented({
        summary: 'Log in with a token',
        description:
          'Opens a session and sets its cookie, `heddle_session`. It ends with the token, after a time without use, and after a maximum time.',
        tag: TAG,
        scope: null,
        answers: { 201: { description: 'Logged in.', schema: LoginStateDto } },
        problems: [401, 403, 409, 413, 415, 429],
      }),
      querystring: NoQuery,
      body: NewSessionDto,
    },
    handler: async (request, reply) => {
      if (!config.authRequired) {
        throw new HeddleError('CONFLICT', 'This server requires no login', {
          details: ['session: is not needed; HEDDLE_REQUIRE_TOKENS=1 requires a login on loopback too'],
        });
      }
      failedLogins.begin(request.ip);
      const token = await gate.find(request.body.token.trim());
      if (token === null) {
        log.warn({ address: request.ip }, 'login failed: unknown token');
        throw wrongToken();
      }
      if (!grants(token.scopes, 'read')) {
        throw new HeddleError('FORBIDDEN', 'The token does not have the scope read', {
          details: [`token: the console requires the scope read; the token has ${token.scopes.join(', ') || 'none'}`],
        });
      }
      const session = await sessions.open({ token_id: token.id }, request, reply);
      if (session === null) throw wrongToken();
      failedLogins.succeeded(request.ip);
      request.heddle.tokenName = actorOf(session);
      request.heddle.created = session.id;
      return reply.code(201).send(stateOf(context, userToWire(session, session.id)));
    },
  });
}

function wrongToken(): HeddleError {
  return new HeddleError('UNAUTHENTICATED', 'Invalid token: it may be mistyped, expired or revoked', {
    details: ['token: is unknown, expired or revoked; create one with `heddle token create`'],
  });
}

function endRoute(app: App, { sessions }: RouteContext): void {
  app.route({
    method: 'DELETE',
    url: PATH,
    config: { scope: null, audited: true },
    schema: {
      ...documented({
        summary: 'Log out',
        description: 'Ends the session of the cookie, if there is one, and deletes the cookie.',
        tag: TAG,
        scope: null,
        answers: { 204: { description: 'Logged out.' } },
        problems: [403],
      }),
      querystring: NoQuery,
    },
    handler: async (request, reply) => {
      const session = await sessions.find(request);
      if (session !== null) {
        await sessions.end(session);
        request.heddle.tokenName = actorOf(session);
        request.heddle.created = session.id;
      }
      sessions.clearCookie(request, reply);
      return reply.code(204).send();
    },
  });
}
