import type { FastifyReply } from 'fastify';

/** Returns a signal that aborts if the caller disconnects before the response. */
export function disconnectSignalOf(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  return gone.signal;
}
