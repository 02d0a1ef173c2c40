import type { FastifyInstance, FastifyRequest } from 'fastify';

import { HeddleError } from '../domain/errors.ts';
import { isCrossOrigin, KnownHosts } from '../runtime/web-origin.ts';
import type { HttpConfig } from './ports.ts';
import { routeOf } from './request-state.ts';

const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses what web pages of others send through the browser of somebody who can reach this server: where no token is asked
 * for, nothing else stands between them and its tasks.
 */
export function refuseForeignRequests(app: FastifyInstance, config: HttpConfig): void {
  const { allowedHosts, authRequired, hostUrl } = config;
  const known = allowedHosts === undefined ? null : new KnownHosts(allowedHosts);
  const ownOrigin = URL.parse(hostUrl)?.origin ?? null;
  app.addHook('onRequest', (request, _reply, done) => {
    const needsNoToken = !authRequired || routeOf(request) === '/metrics';
    if (!needsNoToken) done();
    else if (known !== null && !known.has(request.headers.host)) done(unknownHost(request.headers.host));
    else if (isGuarded(request) && isCrossOrigin(request.headers, ownOrigin)) done(crossOrigin(request));
    else done();
  });
}

/** Links from elsewhere may lead to the page, and what other requests read no other page gets to see. */
function isGuarded(request: FastifyRequest): boolean {
  return !READING.has(request.method) || request.routeOptions.config.sameOrigin === true;
}

function unknownHost(host: string | undefined): HeddleError {
  const shown = JSON.stringify((host ?? '').slice(0, 200));
  return new HeddleError('HOST_NOT_ALLOWED', undefined, {
    details: [
      `host: ${shown} is no name of this server; call it by its address, or add the name to HEDDLE_ALLOWED_HOSTS`,
    ],
  });
}

function crossOrigin({ headers }: FastifyRequest): HeddleError {
  const shown = JSON.stringify((headers.origin ?? '').slice(0, 200));
  return new HeddleError('CROSS_ORIGIN', undefined, {
    details: [
      `origin: ${shown} is another site; a page that calls this server needs one with tokens (HEDDLE_REQUIRE_TOKENS)`,
    ],
  });
}
