import { maxHeaderSize, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';

import { HeddleError } from '@heddle/base/errors';
import type { Logger } from '@heddle/base/log';
import { PROBLEM_TYPE, problemOf } from './wire/problem.ts';

interface ConnectionError extends Error {
  code?: string;
}

/** Responds to malformed requests with a problem document, like any other error, and ends the connection. */
export function answerBrokenRequests(log: Logger): (error: ConnectionError, socket: Socket) => void {
  return (error, socket) => {
    if (error.code === 'ECONNRESET' || socket.destroyed) return;
    const refusal = refusalOf(error);
    log.info({ code: error.code, status: refusal.status, remote: socket.remoteAddress }, 'cannot parse a request');
    // The response is written completely before the connection ends, so that a caller that is still sending can read
    // it.
    if (socket.writable) socket.write(answerOf(refusal));
    socket.destroySoon();
  };
}

function refusalOf({ code, message }: ConnectionError): HeddleError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new HeddleError('REQUEST_TIMEOUT', undefined, { details: ['request: did not arrive in time'] });
  if (code === 'HPE_HEADER_OVERFLOW')
    return new HeddleError('HEADERS_TOO_LARGE', undefined, {
      details: [`request: must have at most ${maxHeaderSize} bytes of URL and headers; put long values in the body`],
    });
  return new HeddleError('MALFORMED_REQUEST', undefined, {
    details: [`request: is not valid HTTP (${message}); encode the characters of its URL`],
  });
}

function answerOf(refusal: HeddleError): string {
  const body = JSON.stringify(problemOf(refusal, undefined));
  return [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? ''}`,
    `content-type: ${PROBLEM_TYPE}; charset=utf-8`,
    `content-length: ${Buffer.byteLength(body)}`,
    ...(refusal.retryable ? ['retry-after: 1'] : []),
    'connection: close',
    '',
    body,
  ].join('\r\n');
}
