import type { FastifyInstance, FastifyRequest } from 'fastify';

import { HeddleError } from '@heddle/base/errors';
import { isCrossOrigin, KnownHosts } from '@heddle/base/web-origin';
import type { HttpConfig } from './ports.ts';
import { routeOf } from './request-state.ts';

const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Rejects requests that web pages of other sites send through the browser of a user with access to this server: without
 * tokens, nothing else protects its tasks.
 */
export function refuseForeignRequests(app: FastifyInstance, config: HttpConfig): void {
  const { allowedHosts, authRequired, hostUrl } = config;
  const known = allowedHosts === undefined ? null : new KnownHosts(allowedHosts);
  const ownOrigin = URL.parse(hostUrl)?.origin ?? null;
  app.addHook('onRequest', (request, _reply, done) => {
    const needsNoToken = !authRequired || routeOf(request) === '/metrics';
    if (!needsNoToken && !isLogin(request)) done();
    else if (needsNoToken && known !== null && !known.has(request.headers.host))
      done(unknownHost(request.headers.host));
    else if (isGuarded(request) && isCrossOrigin(request.headers, ownOrigin))
      done(crossOrigin(request, remedyOf(authRequired)));
    else done();
  });
}

/** Another site could otherwise log a browser in as another user, or out. */
function isLogin(request: FastifyRequest): boolean {
  return request.heddle.route.scope === null && !READING.has(request.method);
}

/**
 * Rejects a request that the page of another origin makes a browser send with the cookie of a session: cookies are
 * shared by all ports of a host, and `SameSite` by all hosts of a site. Changes must name their origin, as those of every
 * browser do; reads do not over plain HTTP.
 * @throws HeddleError CROSS_ORIGIN
 */
export function requireOwnOrigin(request: FastifyRequest, ownOrigin: string | null): void {
  const { headers, method } = request;
  const namesOrigin = headers.origin !== undefined || headers['sec-fetch-site'] !== undefined;
  if (isCrossOrigin(headers, ownOrigin)) throw crossOrigin(request, 'use a token instead of the session');
  if (namesOrigin || READING.has(method)) return;
  throw new HeddleError('CROSS_ORIGIN', 'A change with the cookie of a session must name its origin', {
    details: ['origin: is required with the cookie of a session; programs use a token instead'],
  });
}

/** Links from other sites may lead to the console, and other pages cannot read responses of other requests. */
function isGuarded(request: FastifyRequest): boolean {
  return !READING.has(request.method) || request.heddle.route.sameOrigin === true;
}

function unknownHost(host: string | undefined): HeddleError {
  const shown = JSON.stringify((host ?? '').slice(0, 200));
  return new HeddleError('HOST_NOT_ALLOWED', undefined, {
    details: [`host: ${shown} is not a name of this server; use its address, or add the name to HEDDLE_ALLOWED_HOSTS`],
  });
}

function remedyOf(authRequired: boolean): string {
  if (authRequired) return 'log in with the console of this server';
  return 'to allow requests from other sites, require tokens (HEDDLE_REQUIRE_TOKENS)';
}

function crossOrigin({ headers }: FastifyRequest, remedy: string): HeddleError {
  const shown = JSON.stringify((headers.origin ?? '').slice(0, 200));
  return new HeddleError('CROSS_ORIGIN', undefined, { details: [`origin: ${shown} is another site; ${remedy}`] });
}
