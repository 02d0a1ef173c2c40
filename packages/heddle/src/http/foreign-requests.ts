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
    if (!needsNoToken) done();
    else if (known !== null && !known.has(request.headers.host)) done(unknownHost(request.headers.host));
    else if (isGuarded(request) && isCrossOrigin(request.headers, ownOrigin)) done(crossOrigin(request));
    else done();
  });
}

/** Links from other sites may lead to the console, and other pages cannot read responses of other requests. */
function isGuarded(request: FastifyRequest): boolean {
  return !READING.has(request.method) || request.routeOptions.config.sameOrigin === true;
}

function unknownHost(host: string | undefined): HeddleError {
  const shown = JSON.stringify((host ?? '').slice(0, 200));
  return new HeddleError('HOST_NOT_ALLOWED', undefined, {
    details: [`host: ${shown} is not a name of this server; use its address, or add the name to HEDDLE_ALLOWED_HOSTS`],
  });
}

function crossOrigin({ headers }: FastifyRequest): HeddleError {
  const shown = JSON.stringify((headers.origin ?? '').slice(0, 200));
  return new HeddleError('CROSS_ORIGIN', undefined, {
    details: [
      `origin: ${shown} is another site; to allow requests from other sites, require tokens (HEDDLE_REQUIRE_TOKENS)`,
    ],
  });
}
