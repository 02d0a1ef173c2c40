import type { Socket } from 'node:net';

import type { App } from './routes/context.ts';

/** Requests that one connection may have under way: HTTP/1.1 lets a client send any number without reading an answer. */
const UNDER_WAY_MAX = 32;

/** Ends a connection that has more requests under way than that, before anything is done for them. */
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
