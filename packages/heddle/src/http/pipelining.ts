import type { Socket } from 'node:net';

import type { App } from './routes/context.ts';

/** Maximum concurrent requests of one connection: HTTP/1.1 lets a client send any number without reading a response. */
const UNDER_WAY_MAX = 32;

/** Closes a connection that exceeds that number, before anything is done for its requests. */
export function limitPipelining(app: App): void {
  const underWay = new WeakMap<Socket, number>();
  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    const count = underWay.get(socket) ?? 0;
    if (count >= UNDER_WAY_MAX) {
      reply.hijack();
      socket.destroy();
      return;
    }
    underWay.set(socket, count + 1);
    reply.raw.once('close', () => underWay.set(socket, (underWay.get(socket) ?? 1) - 1));
    done();
  });
}
