import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { HeddleError } from '@heddle/base/errors';
import type { Logger } from '@heddle/base/log';
import { unsupportedMediaType } from './body.ts';
import { routeOf } from './request-state.ts';
import { PROBLEM_TYPE, problemOf } from './wire/problem.ts';

interface FrameworkError {
  code?: unknown;
  statusCode?: unknown;
  message: string;
}

/**
 * Responds to every failure with a problem document; unexpected ones are logged with their cause and reported without
 * it.
 */
export function answerProblems(app: FastifyInstance, log: Logger): void {
  app.setErrorHandler((error: Error, request, reply) => {
    const known = asHeddleError(error, request.routeOptions);
    if (known.code === 'INTERNAL')
      log.error({ err: error, route: routeOf(request), method: request.method }, 'request failed');
    return sendProblem(request, reply, known);
  });
}

export function sendProblem(request: FastifyRequest, reply: FastifyReply, error: HeddleError): FastifyReply {
  const retryAfterSecs = error.retryAfterSecs ?? (error.retryable ? 1 : undefined);
  if (retryAfterSecs !== undefined) void reply.header('retry-after', String(Math.max(1, Math.ceil(retryAfterSecs))));
  return reply
    .code(error.status)
    .type(PROBLEM_TYPE)
    .send(problemOf(error, request.heddle.batchId ?? undefined));
}

/** Responds to requests that the framework rejects before any hook: URLs that cannot be decoded. */
export function answerBadAddress(request: FastifyRequest, reply: FastifyReply): void {
  const error = new HeddleError('VALIDATION_FAILED', undefined, {
    details: [`path: is not a valid URL path: ${JSON.stringify(request.raw.url?.slice(0, 200) ?? '')}; encode it`],
  });
  void reply
    .code(error.status)
    .type(PROBLEM_TYPE)
    .send(JSON.stringify(problemOf(error, undefined)));
}

function asHeddleError(error: Error, { bodyLimit, config }: FastifyRequest['routeOptions']): HeddleError {
  if (error instanceof HeddleError) return error;
  const { code, statusCode, message } = error as FrameworkError;
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new HeddleError('BODY_TOO_LARGE', undefined, {
        details: [`body: must have at most ${bodyLimit} bytes; send less at once`],
      });
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return unsupportedMediaType(config.streamed === true);
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new HeddleError('MALFORMED_BODY', undefined, {
        details: ['content-length: does not match the length of the body'],
      });
    default:
      if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
        return new HeddleError('VALIDATION_FAILED', undefined, { details: [`request: ${message}`], cause: error });
      }
      return new HeddleError('INTERNAL', undefined, { cause: error });
  }
}
