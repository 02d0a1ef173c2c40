import type { FastifyInstance, FastifyRequest } from 'fastify';

import { HeddleError } from '@heddle/base/errors';
import { parseStrictJson } from '@heddle/base/json/parse';
import { limitsOf } from './body-limits.ts';

/**
 * Parses bodies strictly. A fault is kept until the hooks before validation, so that it is reported like any other and
 * the connection stays open.
 */
export function readBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    const state = request.heddle;
    const { streamed, bodyRoot = '', bodyDepth, body: limits } = state.route;
    if (streamed === true) {
      done(unsupportedMediaType(true), undefined);
      return;
    }
    state.bodyBytes = body.length;
    if (body.length === 0) {
      done(null, undefined);
      return;
    }
    try {
      done(null, parseStrictJson(body, bodyRoot, bodyDepth, limitsOf(limits)));
    } catch (error) {
      if (!(error instanceof HeddleError)) throw error;
      state.bodyFault = error;
      done(null, undefined);
    }
  });
  app.addContentTypeParser('application/octet-stream', (request, body, done) => {
    if (request.heddle.route.streamed === true) done(null, body);
    else done(unsupportedMediaType(false), undefined);
  });
  app.addHook('preValidation', (request, _reply, done) => {
    const { bodyFault } = request.heddle;
    done(bodyFault ?? unwantedBody(request) ?? undefined);
  });
}

/** @param streamed whether the route takes any content, instead of JSON */
export function unsupportedMediaType(streamed: boolean): HeddleError {
  const type = streamed ? 'application/octet-stream' : 'application/json';
  return new HeddleError('UNSUPPORTED_MEDIA_TYPE', `The body must be ${type}`, {
    details: [`content-type: must be ${type}; set the header`],
  });
}

/** Rejects a body where none is expected, which would be ignored; an empty object is accepted. */
function unwantedBody(request: FastifyRequest): HeddleError | null {
  const { body } = request;
  if (body === undefined || body === null) return null;
  if (typeof body === 'object' && isEmpty(body)) return null;
  const { route } = request.heddle;
  if (route.streamed === true || route.url === undefined) return null;
  const { schema } = request.routeOptions;
  if (schema === undefined || schema.body !== undefined) return null;
  return new HeddleError('VALIDATION_FAILED', undefined, { details: ['body: must be absent; send no body'] });
}

function isEmpty(object: object): boolean {
  for (const _key in object) return false;
  return true;
}
