import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import { handedOver } from './direct/handed-over.ts';
import type { App } from './routes/context.ts';

/** Maximum concurrent requests of one connection: HTTP/1.1 lets a client send any number without reading a response. */
const UNDER_WAY_MAX = 32;

/** Closes a connection that exceeds that number, before anything is done for its requests. */
export function limitPipelining(app: App): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (handedOver(request.raw) !== undefined || countRequest(request.raw.socket, reply.raw)) {
      done();
      return;
    }
    reply.hijack();
    request.raw.socket.destroy();
  });
}

const UNDER_WAY = Symbol('requests under way');

interface CountedSocket extends Socket {
  [UNDER_WAY]?: number;
}

/** Counts a request until its response is closed; returns false, without an effect, if its connection has too many. */
export function countRequest(socket: CountedSocket, response: ServerResponse): boolean {
  const count = socket[UNDER_WAY] ?? 0;
  if (count >= UNDER_WAY_MAX) return false;
  socket[UNDER_WAY] = count + 1;
  response.once('close', () => (socket[UNDER_WAY] = (socket[UNDER_WAY] ?? 1) - 1));
  return true;
}
