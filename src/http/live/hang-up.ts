import type { FastifyReply } from 'fastify';

/** Aborts when the caller is gone before it was answered. */
export function hangUpOf(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  return gone.signal;
}
