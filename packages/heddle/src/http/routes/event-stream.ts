import type { FastifyReply, FastifyRequest } from 'fastify';

import { HeddleError } from '@heddle/base/errors';
import type { EventStreams } from '../live/event-streams.ts';
import type { Feed } from '../live/feed.ts';

/** Responds with a stream, which owns the connection from here on. */
export function startStream(reply: FastifyReply, streams: EventStreams, feed: Feed, cursor: number): void {
  reply.hijack();
  const { raw } = reply;
  for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value);
  // Proxies must neither cache nor buffer the stream; its end closes the connection.
  raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    connection: 'close',
    'x-accel-buffering': 'no',
  });
  raw.write('retry: 2000\n\n');
  streams.open(feed, cursor, raw, reply.request.heddle.isStillAdmitted);
}

/** @throws HeddleError VALIDATION_FAILED if `Last-Event-ID` is none of this stream's */
export function readCursor(request: FastifyRequest): number {
  const given = request.headers['last-event-id'];
  if (given === undefined || given === '') return 0;
  if (typeof given === 'string' && /^\d{1,16}$/.test(given)) return Number(given);
  throw new HeddleError('VALIDATION_FAILED', undefined, {
    details: ['last-event-id: must be the id of an event of this stream'],
  });
}
